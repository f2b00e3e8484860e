"""Write a model whose weights are the mean of those of two models of the same network.

    python benchmarks/average_weights.py first second mean

It is meant for two stages of one training (`gridner train --init`). Everything but the weights is that of the second.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from gridner.model.trained_model import TrainedModel


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    model = TrainedModel.load(options.second)
    other = TrainedModel.load(options.first).model.state_dict()
    with torch.no_grad():
        for name, tensor in model.model.state_dict().items():
            if tensor.is_floating_point():
                tensor.lerp_(other[name], 0.5)
    model.save_pretrained(options.output)
    print(options.output)


if __name__ == "__main__":
    main()
