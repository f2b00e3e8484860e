"""Training: documents → a model directory."""

from gridner.training.data import Part, part_of
from gridner.training.run import train
from gridner.training.task import Task

__all__ = ["Part", "Task", "part_of", "train"]
