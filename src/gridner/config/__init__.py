"""Settings of a model and its training, and the presets that gridner ships."""

from gridner.config.settings import (
    Config,
    DecodingConfig,
    DistillConfig,
    ModelConfig,
    Range,
    TrainConfig,
    config_from,
    read_config,
    with_settings,
)

__all__ = [
    "Config",
    "DecodingConfig",
    "DistillConfig",
    "ModelConfig",
    "Range",
    "TrainConfig",
    "config_from",
    "read_config",
    "with_settings",
]
