"""Continued pretraining: an encoder and plain text → an encoder that knows the field."""

from gridner.pretraining.run import Task, pretrain
from gridner.pretraining.settings import Settings

__all__ = ["Settings", "Task", "pretrain"]
