"""The order in which training reads rows: random, the same after an interruption, in constant memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

CHUNK = 8  # rows that are held out together, because neighbours share sentences
ROUNDS = 4  # of the Feistel network


def permuted(places: NDArray[np.int64], size: int, key: Sequence[int]) -> NDArray[np.int64]:
    """Return the images of places under a random permutation of `range(size)`, which the key determines.

    A Feistel network, applied until the result is in the range, computes each image by itself, so the permutation needs
    no table.
    """
    half = max(1, (max(size - 1, 1).bit_length() + 1) // 2)
    low = np.uint64(2**half - 1)
    shift = np.uint64(half)
    keys = np.random.default_rng(list(key)).integers(0, 2**63, size=ROUNDS, dtype=np.uint64)
    images = places.astype(np.uint64)
    outside = np.ones(len(images), dtype=np.bool_)
    while outside.any():
        left, right = images[outside] >> shift, images[outside] & low
        for round_key in keys:
            left, right = right, left ^ (_mixed(right ^ round_key) & low)
        images[outside] = (left << shift) | right
        outside = images >= size
    return images.astype(np.int64)


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the values after the finalizer of splitmix64."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = values ^ (values >> np.uint64(31))
    return mixed


@dataclass(frozen=True, slots=True)
class Group:
    """The rows of all sources of one weight. The last of each `period` chunks is held out."""

    first: int  # index of its first row among all rows
    rows: int
    weight: float
    chunk: int  # rows per chunk
    period: int  # 0 holds out none

    @property
    def held(self) -> int:
        """The number of rows that are held out."""
        return self.rows // self.chunk // self.period * self.chunk if self.period else 0

    @property
    def size(self) -> int:
        """The number of rows to train on."""
        return self.rows - self.held

    def training_row(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the indices, among all rows, of these training rows of the group."""
        if not self.held:
            return self.first + numbers
        chunk, row_in_chunk = np.divmod(numbers, self.chunk)
        skipped = np.minimum(chunk // (self.period - 1), self.held // self.chunk)
        rows: NDArray[np.int64] = self.first + (chunk + skipped) * self.chunk + row_in_chunk
        return rows

    def held_rows(self) -> NDArray[np.int64]:
        """Return the indices of the held-out rows among all rows."""
        chunks = np.arange(self.held // self.chunk) * self.period + self.period - 1
        rows: NDArray[np.int64] = (self.first + chunks[:, None] * self.chunk + np.arange(self.chunk)).reshape(-1)
        return rows


def groups_of(sizes: Sequence[tuple[int, float]], *, share: float, most: int) -> list[Group]:
    """Return a group per (rows, weight), with about `share` of the rows held out, from one to about `most`."""
    total = sum(rows for rows, _ in sizes)
    chunk = CHUNK if total * share >= 10 * CHUNK else 1
    period = max(2, round(1 / share), -(-total // most))
    if not any(rows // chunk >= period for rows, _ in sizes):
        period = max(rows for rows, _ in sizes)  # little text: hold out one row
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
        """Return the indices of the rows at these places of the run.

        An epoch mixes the groups by their weights. A run reads each group in passes: no row of a group comes again
        before all its other rows have come, even if an epoch has only a part of the group.
        """
        rows = np.empty_like(places)
        epochs, places_in_epoch = np.divmod(places, self.epoch)
        for epoch in np.unique(epochs):
            same_epoch = epochs == epoch
            mixed = permuted(places_in_epoch[same_epoch], self.epoch, (self.seed, 0, int(epoch)))
            rows[same_epoch] = self._in_epoch(mixed, int(epoch))
        return rows

    def _in_epoch(self, mixed: NDArray[np.int64], epoch: int) -> NDArray[np.int64]:
        """Return the rows at these places of an epoch before mixing, where one group follows another."""
        result = np.empty_like(mixed)
        begin = 0
        for number, (group, count) in enumerate(zip(self.groups, self.counts, strict=True), start=1):
            own = (mixed >= begin) & (mixed < begin + count)
            passes, place = np.divmod(epoch * count + mixed[own] - begin, group.size)
            rows = np.empty_like(place)
            for pass_number in np.unique(passes):
                same_pass = passes == pass_number
                rows[same_pass] = permuted(place[same_pass], group.size, (self.seed, number, int(pass_number)))
            result[own] = group.training_row(rows)
            begin += count
        return result
