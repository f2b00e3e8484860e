"""Training: from documents to a model folder."""

from gridner.training.corpora import TrainingResult, train, train_corpora
from gridner.training.corrections import learn
from gridner.training.run import train_once
from gridner.training.task import TrainingTask

__all__ = ["TrainingResult", "TrainingTask", "learn", "train", "train_corpora", "train_once"]
