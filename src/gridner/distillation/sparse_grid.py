"""Grids of tag probabilities without the cells near 0, and their translation into another tag scheme."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gridner.tagging.tags import TagScheme

MIRROR = {"NNW": "PNW", "PNW": "NNW", "HTW": "THW", "THW": "HTW"}
TAG_LETTERS = 3  # of the tag with which a label begins


@dataclass(frozen=True, slots=True)
class SparseGrid:
    """The tag probabilities of a sentence that are not 0."""

    words: int  # n, the number of words of the sentence
    cells: NDArray[np.int64]  # [c, 3]: subject word, object word, label
    probabilities: NDArray[np.float64]  # [c]

    @classmethod
    def from_dense(cls, grid: NDArray[np.floating], *, least: float) -> SparseGrid:
        """Return the probabilities of a grid [n, n, labels] that are at least `least`."""
        cells = np.argwhere(grid >= least)
        return cls(len(grid), cells, grid[tuple(cells.T)].astype(np.float64))

    def dense(self, labels: int) -> NDArray[np.float64]:
        """Return the grid [n, n, labels]."""
        grid = np.zeros((self.words, self.words, labels))
        grid[tuple(self.cells.T)] = self.probabilities
        return grid

    @property
    def tagged_words(self) -> list[int]:
        """The words that have a tag, ascending."""
        return [int(word) for word in np.unique(self.cells[:, :2])]

    def word_probabilities(self, known: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the probability [n, groups] that a word is part of an entity: that of its most probable tag.

        `known` [groups, labels] is true for the labels of each group. Each word of a mention has a tag, with another
        word or, in a mention of one word, with itself.
        """
        result = np.zeros((self.words, len(known)))
        for group, labels in enumerate(known):
            own = labels[self.cells[:, 2]]
            for side in (0, 1):
                np.maximum.at(result[:, group], self.cells[own, side], self.probabilities[own])
        return result


@dataclass(frozen=True, slots=True)
class LabelMap:
    """Translates labels of one tag scheme into those of another: the label of the same name, or else its mirror.

    NNW (i, j) and PNW (j, i) say the same, and so do HTW (i, j) and THW (j, i). So a teacher with two tags can teach a
    student with four, and the other way round.
    """

    source: tuple[int, ...]  # per label of the target, the label of the source
    mirrored: tuple[bool, ...]  # per label of the target, whether subject and object are swapped

    @classmethod
    def between(cls, source: TagScheme, target: TagScheme) -> LabelMap:
        """Return the map between schemes of the same types and groups."""
        numbers = {label: number for number, label in enumerate(source.labels)}
        mirrored = tuple(label not in numbers for label in target.labels)
        names = (
            MIRROR[label[:TAG_LETTERS]] + label[TAG_LETTERS:] if swap else label
            for label, swap in zip(target.labels, mirrored, strict=True)
        )
        return cls(tuple(numbers[name] for name in names), mirrored)

    def dense(self, grid: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return the grid [n, n, target labels] of a grid [n, n, source labels]."""
        unmirrored = grid[:, :, list(self.source)]
        result: NDArray[np.floating] = np.where(np.array(self.mirrored), unmirrored.swapaxes(0, 1), unmirrored)
        return result

    def sparse(self, grid: SparseGrid) -> SparseGrid:
        """Return a sparse grid with the labels of the target."""
        cells, probabilities = [], []
        for label, (source, mirrored) in enumerate(zip(self.source, self.mirrored, strict=True)):
            own = grid.cells[:, 2] == source
            own_cells = grid.cells[own][:, [1, 0, 2] if mirrored else [0, 1, 2]]
            own_cells[:, 2] = label
            cells.append(own_cells)
            probabilities.append(grid.probabilities[own])
        return SparseGrid(grid.words, np.concatenate(cells), np.concatenate(probabilities))


def check_same_types(found: TagScheme, wanted: TagScheme, *, where: str, owner: str) -> str | None:
    """Return an error message if the types or groups of two schemes differ, else None."""
    if set(found.types) != set(wanted.types):
        return f"{where}: types {_listed(found.types)}; expected {_listed(wanted.types)}, those of {owner}"
    if _groups(found) != _groups(wanted):
        names = [group.name or "one group" for group in found.groups]
        return f"{where}: types by corpus {_listed(names)}, which differ from those of {owner}; expected the same"
    return None


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(sorted(names)):.200}"


def _groups(scheme: TagScheme) -> set[tuple[str, frozenset[str]]]:
    return {(group.name, frozenset(group.types)) for group in scheme.groups}
