"""Training: documents → a model directory."""

from gridner.training.run import train_once
from gridner.training.task import TrainingTask

__all__ = ["TrainingTask", "train_once"]
