"""Continued pretraining: an encoder and plain text → an encoder that knows the field."""

from gridner.pretraining.run import PretrainingTask, pretrain
from gridner.pretraining.settings import Settings

__all__ = ["PretrainingTask", "Settings", "pretrain"]
