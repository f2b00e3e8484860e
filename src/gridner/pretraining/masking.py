"""Whole-word masking, drawn anew for every step."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

REPLACED, RANDOM = 0.8, 0.1  # shares of the chosen words: by the mask, by random pieces; the rest stay as they are


@dataclass(frozen=True, slots=True)
class Masked:
    """A batch in which some words are hidden, with the hidden pieces as targets."""

    pieces: NDArray[np.int64]  # [B, p]
    places: NDArray[np.int64]  # [m], of the hidden pieces in the flattened batch
    targets: NDArray[np.int64]  # [m]


@dataclass(frozen=True, slots=True)
class Masking:
    """Hides whole words of a batch."""

    share: float  # of the words
    mask: int  # the piece that stands for a hidden one
    special: NDArray[np.bool_]  # [vocabulary], pieces that are neither hidden nor put in at random

    def __call__(self, pieces: NDArray[np.int64], starts: NDArray[np.bool_], random: np.random.Generator) -> Masked:
        """Hide words of a batch [B, p]; `starts` is true at the first piece of each word.

        All pieces of a word are treated alike, and at least one word is hidden.
        """
        flat, begins = pieces.ravel(), starts.ravel().copy()
        begins[:: pieces.shape[1]] = True
        words = np.cumsum(begins) - 1
        ordinary = ~self.special[flat]
        draws = random.random((2, int(words[-1]) + 1))
        chosen = (draws[0][words] < self.share) & ordinary
        if not chosen.any() and ordinary.any():
            lowest = words[ordinary][np.argmin(draws[0][words[ordinary]])]
            chosen = (words == lowest) & ordinary
        places = np.flatnonzero(chosen)
        action = draws[1][words[places]]
        shown = flat.copy()
        shown[places[action < REPLACED]] = self.mask
        anything = places[(action >= REPLACED) & (action < REPLACED + RANDOM)]
        shown[anything] = random.choice(np.flatnonzero(~self.special), size=len(anything))
        return Masked(shown.reshape(pieces.shape), places, flat[places])


def masking_of(share: float, mask: int, special: Collection[int], vocabulary: int) -> Masking:
    """Return the masking for a vocabulary of this size."""
    table = np.zeros(vocabulary, dtype=np.bool_)
    table[list(special)] = True
    return Masking(share, mask, table)
