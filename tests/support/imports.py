"""The slow imports of a training, for processes that fork."""

import accelerate  # noqa: F401
import matplotlib.backends.backend_agg
import matplotlib.figure  # noqa: F401
import torch.distributed.nn.functional  # noqa: F401
from transformers import BertModel  # noqa: F401

import gridner.training  # noqa: F401
