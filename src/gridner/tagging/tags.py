"""The tag scheme: mentions of a sentence ⇄ an n × n grid of tags, and the relations that the tags vote for.

Row i is the subject word, column j the object word:

    NNW        (i, j), j > i   in some mention the next word after i is j
    PNW        (i, j), j < i   in some mention the word before i is j (the mirror of NNW)
    HTW:type   (i, j), j >= i  i is the head and j the tail of a mention of that type
    THW:type   (i, j), j <= i  i is the tail and j the head (the mirror of HTW)

Types that are marked by different corpora are in different groups, each with links of its own: NNW@group, PNW@group.
So a corpus that says nothing about a type says nothing about its links either.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from gridner.errors import UsageError
from gridner.text.sentences import Mention

TagSet = Literal["NNW+PNW+HTW+THW", "NNW+THW", "PNW+HTW"]
Mode = Literal["T", "L"]
TAG_SETS: tuple[TagSet, ...] = get_args(TagSet)
LINK_TAGS = ("NNW", "PNW")  # the others carry a type
WITH_GAP = 0.5  # of the bonus: where a name has a gap, it is often none


@dataclass(frozen=True, slots=True)
class Relations:
    """What the tags vote for, as probabilities; cells outside the stated region mean nothing.

    `links[i, k]`, k > i: word k follows word i. `ends[i, j, t]`, j >= i: a mention of type t begins at i and ends at j.
    """

    links: NDArray[np.floating]  # [n, n, groups]
    ends: NDArray[np.floating]  # [n, n, types]


@dataclass(frozen=True, slots=True)
class TypeGroup:
    """Types that share links: those that a corpus marks."""

    name: str
    types: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TagScheme:
    """Which tags there are, and for which types. Without `groups` all types are in one; a type may be in several."""

    types: tuple[str, ...]
    tags: TagSet = "NNW+PNW+HTW+THW"
    groups: tuple[TypeGroup, ...] = ()

    def __post_init__(self) -> None:
        if self.tags not in TAG_SETS:
            raise UsageError(f"tag set {self.tags!r}, expected one of {', '.join(TAG_SETS)}")
        if not self.types or len(set(self.types)) != len(self.types):
            raise UsageError(f"types are {self.types!r}, expected at least one, each once")
        if not self.groups:
            object.__setattr__(self, "groups", (TypeGroup("", self.types),))
        names = [group.name for group in self.groups]
        if len(set(names)) != len(names):
            raise UsageError(f"groups of types are {', '.join(names)}, expected each name once")
        if {name for group in self.groups for name in group.types} != set(self.types):
            found = "; ".join(f"{group.name}: {', '.join(group.types)}" for group in self.groups)
            raise UsageError(f"groups of types are {found:.200}, expected all of {', '.join(self.types):.200} in them")

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the grid's channels: NNW and PNW for each group, HTW and THW for each type."""
        names: list[str] = []
        for tag in self.tags.split("+"):
            names.extend(self.link_labels(tag) if tag in LINK_TAGS else [f"{tag}:{name}" for name in self.types])
        return tuple(names)

    def link_labels(self, tag: str) -> list[str]:
        """Return the names of a link's channels, one for each group."""
        return [tag] if len(self.groups) == 1 else [f"{tag}@{group.name}" for group in self.groups]

    @property
    def members(self) -> list[list[int]] | None:
        """For each of several groups, the numbers of its types; None where one group has all."""
        if len(self.groups) == 1:
            return None
        number = {name: place for place, name in enumerate(self.types)}
        return [sorted(number[name] for name in group.types) for group in self.groups]

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which labels [groups, labels] belong to a group: its links, and head and tail of its types."""
        known = np.zeros((len(self.groups), len(self.labels)), dtype=np.bool_)
        for tag, channel in self.channels.items():
            for row, own in enumerate(self.members or [range(len(self.types))]):
                known[row, [channel.start + place for place in ([row] if tag in LINK_TAGS else own)]] = True
        return known

    @property
    def channels(self) -> dict[str, slice]:
        """Where the channels of each tag stand among the labels."""
        found: dict[str, slice] = {}
        start = 0
        for tag in self.tags.split("+"):
            stop = start + len(self.groups if tag in LINK_TAGS else self.types)
            found[tag] = slice(start, stop)
            start = stop
        return found

    def encode(self, mentions: Sequence[Mention], words: int) -> NDArray[np.bool_]:
        """The grid [n, n, labels] of a sentence of n words. A mention has links in every group that has its type."""
        channel = {label: number for number, label in enumerate(self.labels)}
        grid = np.zeros((words, words, len(channel)), dtype=np.bool_)
        next_labels, previous_labels = self.link_labels("NNW"), self.link_labels("PNW")
        for mention in mentions:
            if mention.type not in self.types:
                raise UsageError(f"a mention of type {mention.type!r}, expected one of {', '.join(self.types)}")
            head, tail = mention.head, mention.tail
            cells = [(head, tail, f"HTW:{mention.type}"), (tail, head, f"THW:{mention.type}")]
            own = [place for place, group in enumerate(self.groups) if mention.type in group.types]
            for here, following in pairwise(mention.words):
                for place in own:
                    cells += [(here, following, next_labels[place]), (following, here, previous_labels[place])]
            for row, column, label in cells:
                if label in channel:
                    grid[row, column, channel[label]] = True
        return grid

    def relations(self, grid: NDArray[np.generic], *, links: Mode = "T", ends: Mode = "L") -> Relations:
        """The relations in a grid [n, n, labels] of probabilities (or of gold tags, which are 0 and 1).

        Mode T: a relation holds as far as both of its tags do; mode L: as far as either does. With one tag for each
        relation (NNW+THW, PNW+HTW) the modes are the same.
        """
        channels = self.channels
        size = max(channel.stop for channel in channels.values())
        if grid.ndim != 3 or grid.shape[0] != grid.shape[1] or grid.shape[2] != size:
            raise UsageError(f"grid of shape {grid.shape}, expected (n, n, {size})")
        scores = grid.astype(np.float32) if grid.dtype == np.bool_ else grid
        forward = {tag: scores[:, :, channels[tag]] for tag in ("NNW", "HTW") if tag in channels}
        mirror = scores.swapaxes(0, 1)
        backward = {tag: mirror[:, :, channels[tag]] for tag in ("PNW", "THW") if tag in channels}
        return Relations(
            links=_combine(forward.get("NNW"), backward.get("PNW"), links),
            ends=_combine(forward.get("HTW"), backward.get("THW"), ends),
        )


def probabilities(
    scores: NDArray[np.floating], *, one_label: bool = False, known: NDArray[np.bool_] | None = None
) -> NDArray[np.floating]:
    """Probabilities [..., labels] of scores, above 0.5 exactly where a tag is predicted.

    With any number of tags a cell, those whose score exceeds 0. With `one_label` (W2NER, whose last score is that of
    "none") the one with the best score: its lead over the best of the others is what counts. With the labels that are
    `known` [groups, labels] to several groups, each group has its best; a label of several groups counts where it leads
    most. In double precision, so that those near 1 can be told apart.
    """
    if one_label and (known is None or len(known) == 1):
        scores = _lead(scores)[..., :-1]
    elif one_label and known is not None:
        leads = np.full_like(scores[..., :-1], -np.inf)
        for row in known:
            own = np.flatnonzero(row)
            leads[..., own] = np.maximum(leads[..., own], _lead(scores[..., [*own, -1]])[..., :-1])
        scores = leads
    found: NDArray[np.floating] = 1 / (1 + np.exp(-scores.astype(np.float64).clip(-50, 50)))
    return found


def _lead(scores: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return how far each score exceeds the best of the others."""
    order = np.sort(scores, axis=-1)
    best, second = order[..., -1:], order[..., -2:-1]
    return scores - np.where(scores == best, second, best)


def shifted(probabilities: NDArray[np.floating], threshold: float) -> NDArray[np.floating]:
    """Probabilities whose `threshold` lies at 0.5: the same order, another cut."""
    if threshold == 0.5:
        return probabilities
    above = probabilities * (1 - threshold)
    return above / (above + (1 - probabilities) * threshold)


class Name(NamedTuple):
    """A name of the lexicon in a sentence: its type's number and its words."""

    type: int
    words: tuple[int, ...]


def favoured(
    relations: Relations, names: Collection[Name], bonus: float, *, members: Sequence[Collection[int]] | None = None
) -> Relations:
    """The relations with so much more log-odds for names, and a share of that for names with a gap.

    `members` has for each group the numbers of its types (None: one group has all): a name's links are those of the
    groups that have its type.
    """
    if not names or not bonus:
        return relations
    pairs: dict[tuple[int, ...], float] = {}
    cells: dict[tuple[int, ...], float] = {}
    for name in names:
        more = bonus if name.words[-1] - name.words[0] < len(name.words) else bonus * WITH_GAP
        groups = [0] if members is None else [place for place, types in enumerate(members) if name.type in types]
        for (here, following), group in product(pairwise(name.words), groups):
            pairs[here, following, group] = max(more, pairs.get((here, following, group), 0.0))
        cell = (name.words[0], name.words[-1], name.type)
        cells[cell] = max(more, cells.get(cell, 0.0))
    return Relations(_raised(relations.links, pairs), _raised(relations.ends, cells))


def _raised(grid: NDArray[np.floating], places: Mapping[tuple[int, ...], float]) -> NDArray[np.floating]:
    if not places:
        return grid
    raised = grid.copy()
    at = tuple(np.array(list(places)).T)
    more = grid[at] * np.exp(np.array(list(places.values()), dtype=grid.dtype))
    raised[at] = more / (more + 1 - grid[at])
    return raised


def _combine(
    forward: NDArray[np.generic] | None, backward: NDArray[np.generic] | None, mode: Mode
) -> NDArray[np.floating]:
    if mode not in ("T", "L"):
        raise UsageError(f"mode {mode!r}, expected T (both tags) or L (either tag)")
    both = [scores for scores in (forward, backward) if scores is not None]
    combine = np.minimum if mode == "T" else np.maximum
    result: NDArray[np.floating] = both[0] if len(both) == 1 else combine(both[0], both[1])  # type: ignore[assignment]
    return result
