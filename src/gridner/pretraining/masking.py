"""Whole-word masking, drawn again for each step."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MASKED_SHARE, RANDOM_SHARE = 0.8, 0.1  # of the hidden words become the mask, or random pieces; the others stay


@dataclass(frozen=True, slots=True)
class Masked:
    """A batch with hidden words, and the hidden pieces as targets."""

    pieces: NDArray[np.int64]  # [B, p]
    places: NDArray[np.int64]  # [m], positions of the hidden pieces in the flattened batch
    targets: NDArray[np.int64]  # [m]


@dataclass(frozen=True, slots=True)
class Masking:
    """Hides whole words of a batch."""

    share: float  # of the words that are hidden
    mask: int  # the mask piece
    special: NDArray[np.bool_]  # [vocabulary], pieces that are never hidden and never replace others

    def __call__(self, pieces: NDArray[np.int64], starts: NDArray[np.bool_], random: np.random.Generator) -> Masked:
        """Return a batch [B, p] with hidden words; `starts` [B, p] is true at the first piece of each word.

        All pieces of a word are treated alike, and at least one word is hidden.
        """
        flat, flat_starts = pieces.ravel(), starts.ravel().copy()
        flat_starts[:: pieces.shape[1]] = True
        words = np.cumsum(flat_starts) - 1  # of each piece
        ordinary = ~self.special[flat]
        draws = random.random((2, int(words[-1]) + 1))
        chosen = (draws[0][words] < self.share) & ordinary
        if not chosen.any() and ordinary.any():
            lowest = words[ordinary][np.argmin(draws[0][words[ordinary]])]
            chosen = (words == lowest) & ordinary
        places = np.flatnonzero(chosen)
        action = draws[1][words[places]]
        shown = flat.copy()
        shown[places[action < MASKED_SHARE]] = self.mask
        randomized = places[(action >= MASKED_SHARE) & (action < MASKED_SHARE + RANDOM_SHARE)]
        shown[randomized] = random.choice(np.flatnonzero(~self.special), size=len(randomized))
        return Masked(shown.reshape(pieces.shape), places, flat[places])


def masking_of(share: float, mask: int, special: Collection[int], vocabulary: int) -> Masking:
    """Return the masking for a vocabulary of this size."""
    table = np.zeros(vocabulary, dtype=np.bool_)
    table[list(special)] = True
    return Masking(share, mask, table)
