"""Training: documents → a model directory."""

from gridner.training.run import train
from gridner.training.task import Task

__all__ = ["Task", "train"]
