"""The order in which rows of text are read: random, the same after an interruption, and in memory of a fixed size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

CHUNK = 8  # rows that are held out together: neighbours share sentences
ROUNDS = 4  # of the Feistel network


def permuted(places: NDArray[np.int64], size: int, key: Sequence[int]) -> NDArray[np.int64]:
    """Return where a random permutation of `range(size)` sends each place.

    It is computed from the key, place by place (a Feistel network, walked until it stays in the range), so that no
    table of the size of the text is needed.
    """
    half = max(1, (max(size - 1, 1).bit_length() + 1) // 2)
    low = np.uint64(2**half - 1)
    shift = np.uint64(half)
    keys = np.random.default_rng(list(key)).integers(0, 2**63, size=ROUNDS, dtype=np.uint64)
    found = places.astype(np.uint64)
    outside = np.ones(len(found), dtype=np.bool_)
    while outside.any():
        left, right = found[outside] >> shift, found[outside] & low
        for each in keys:
            left, right = right, left ^ (_mixed(right ^ each) & low)
        found[outside] = (left << shift) | right
        outside = found >= size
    return found.astype(np.int64)


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finalizer of splitmix64."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = values ^ (values >> np.uint64(31))
    return mixed


@dataclass(frozen=True, slots=True)
class Group:
    """Rows of the sources of one weight: where they begin among all rows, how many, and how many of each are held out.

    Of every `period` chunks of `chunk` rows the last is held out; 0 holds out none.
    """

    first: int
    rows: int
    weight: float
    chunk: int
    period: int

    @property
    def held(self) -> int:
        """The number of rows that are held out."""
        return self.rows // self.chunk // self.period * self.chunk if self.period else 0

    @property
    def size(self) -> int:
        """The number of rows to train on."""
        return self.rows - self.held

    def training_row(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers among all rows of these training rows."""
        if not self.held:
            return self.first + numbers
        chunk, inside = np.divmod(numbers, self.chunk)
        skipped = np.minimum(chunk // (self.period - 1), self.held // self.chunk)
        rows: NDArray[np.int64] = self.first + (chunk + skipped) * self.chunk + inside
        return rows

    def held_rows(self) -> NDArray[np.int64]:
        """Return the numbers of the held-out rows among all rows."""
        chunks = np.arange(self.held // self.chunk) * self.period + self.period - 1
        rows: NDArray[np.int64] = (self.first + chunks[:, None] * self.chunk + np.arange(self.chunk)).reshape(-1)
        return rows


def groups_of(sizes: Sequence[tuple[int, float]], *, share: float, most: int) -> list[Group]:
    """Return a group for each (rows, weight), with about `share` of the rows held out, from one to about `most`."""
    total = sum(rows for rows, _ in sizes)
    chunk = CHUNK if total * share >= 10 * CHUNK else 1
    period = max(2, round(1 / share), -(-total // most))
    if not any(rows // chunk >= period for rows, _ in sizes):
        period = max(rows for rows, _ in sizes)  # little text: one row
    groups, first = [], 0
    for rows, weight in sizes:
        groups.append(Group(first, rows, weight, chunk, period if period > 1 else 0))
        first += rows
    return groups


@dataclass(frozen=True, slots=True)
class Order:
    """The order in which a run reads rows."""

    groups: Sequence[Group]
    seed: int

    @property
    def counts(self) -> list[int]:
        """The number of rows of each group per epoch."""
        return [max(1, round(group.weight * group.size)) for group in self.groups]

    @property
    def epoch(self) -> int:
        """The number of rows per epoch."""
        return sum(self.counts)

    def rows(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows at these places of the run.

        An epoch mixes the groups by their weights. Each group is read in passes: no row comes again before all others
        of its group have come, also where an epoch has a part of the group only.
        """
        found = np.empty_like(places)
        epochs, inside = np.divmod(places, self.epoch)
        for epoch in np.unique(epochs):
            now = epochs == epoch
            mixed = permuted(inside[now], self.epoch, (self.seed, 0, int(epoch)))
            found[now] = self._in_epoch(mixed, int(epoch))
        return found

    def _in_epoch(self, mixed: NDArray[np.int64], epoch: int) -> NDArray[np.int64]:
        found = np.empty_like(mixed)
        begin = 0
        for number, (group, count) in enumerate(zip(self.groups, self.counts, strict=True), start=1):
            own = (mixed >= begin) & (mixed < begin + count)
            passes, place = np.divmod(epoch * count + mixed[own] - begin, group.size)
            rows = np.empty_like(place)
            for each in np.unique(passes):
                same = passes == each
                rows[same] = permuted(place[same], group.size, (self.seed, number, int(each)))
            found[own] = group.training_row(rows)
            begin += count
        return found
