"""The tag scheme: mentions of a sentence ⇄ an n × n grid of tags, and the relations that the tags vote for.

Row i is the subject word, column j the object word:

    NNW        (i, j), j > i   in some mention the next word after i is j
    PNW        (i, j), j < i   in some mention the word before i is j (the mirror of NNW)
    HTW:type   (i, j), j >= i  i is the head and j the tail of a mention of that type
    THW:type   (i, j), j <= i  i is the tail and j the head (the mirror of HTW)

Types that different corpora annotate are in different groups, each with links of its own: NNW@group, PNW@group. So a
corpus that does not annotate a type does not annotate its links either.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from gridner.errors import UsageError
from gridner.text.alignment import Mention

TagSet = Literal["NNW+PNW+HTW+THW", "NNW+THW", "PNW+HTW"]
VoteMode = Literal["T", "L"]
TAG_SETS: tuple[TagSet, ...] = get_args(TagSet)
LINK_TAGS = ("NNW", "PNW")  # the others carry a type
WITH_GAP = 0.5  # share of the bonus for a name with a gap, which is often not meant


@dataclass(frozen=True, slots=True)
class Relations:
    """Relations between words as probabilities; cells outside the stated region mean nothing.

    `links[i, k]`, k > i: word k follows word i. `ends[i, j, t]`, j >= i: a mention of type t begins at i and ends at j.
    """

    links: NDArray[np.floating]  # [n, n, groups]
    ends: NDArray[np.floating]  # [n, n, types]


@dataclass(frozen=True, slots=True)
class TypeGroup:
    """Types that share links: those that one corpus annotates."""

    name: str
    types: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TagScheme:
    """The tags of a grid and their types. Without `groups` all types are in one; a type may be in several."""

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
            listed = "; ".join(f"{group.name}: {', '.join(group.types)}" for group in self.groups)
            raise UsageError(f"groups of types are {listed:.200}, expected all of {', '.join(self.types):.200} in them")

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the grid's channels: NNW and PNW for each group, HTW and THW for each type."""
        names: list[str] = []
        for tag in self.tags.split("+"):
            names.extend(self.link_labels(tag) if tag in LINK_TAGS else [f"{tag}:{name}" for name in self.types])
        return tuple(names)

    def link_labels(self, tag: str) -> list[str]:
        """Return the labels of a link tag, one for each group."""
        return [tag] if len(self.groups) == 1 else [f"{tag}@{group.name}" for group in self.groups]

    @property
    def group_types(self) -> list[list[int]] | None:
        """The numbers of the types of each group; None if there is one group."""
        if len(self.groups) == 1:
            return None
        number = {name: number for number, name in enumerate(self.types)}
        return [sorted(number[name] for name in group.types) for group in self.groups]

    def first_group(self, type: str) -> int:
        """Return the number of the first group that has a type."""
        return next(number for number, group in enumerate(self.groups) if type in group.types)

    @property
    def group_labels(self) -> NDArray[np.bool_]:
        """Whether a label belongs to a group [groups, labels]: its links, and head and tail of its types."""
        belongs = np.zeros((len(self.groups), len(self.labels)), dtype=np.bool_)
        for tag, channel in self.channels.items():
            for group, types in enumerate(self.group_types or [range(len(self.types))]):
                belongs[group, [channel.start + number for number in ([group] if tag in LINK_TAGS else types)]] = True
        return belongs

    @property
    def channels(self) -> dict[str, slice]:
        """The places of each tag's channels among the labels."""
        channels: dict[str, slice] = {}
        start = 0
        for tag in self.tags.split("+"):
            stop = start + len(self.groups if tag in LINK_TAGS else self.types)
            channels[tag] = slice(start, stop)
            start = stop
        return channels

    def encode(self, mentions: Sequence[Mention], words: int) -> NDArray[np.bool_]:
        """Return the grid [n, n, labels] of a sentence of n words. Every group with a mention's type has its links."""
        channel = {label: number for number, label in enumerate(self.labels)}
        grid = np.zeros((words, words, len(channel)), dtype=np.bool_)
        next_labels, previous_labels = self.link_labels("NNW"), self.link_labels("PNW")
        for mention in mentions:
            if mention.type not in self.types:
                raise UsageError(f"a mention of type {mention.type!r}, expected one of {', '.join(self.types)}")
            head, tail = mention.head, mention.tail
            cells = [(head, tail, f"HTW:{mention.type}"), (tail, head, f"THW:{mention.type}")]
            groups = [number for number, group in enumerate(self.groups) if mention.type in group.types]
            for word, next_word in pairwise(mention.words):
                for group in groups:
                    cells += [(word, next_word, next_labels[group]), (next_word, word, previous_labels[group])]
            for row, column, label in cells:
                if label in channel:
                    grid[row, column, channel[label]] = True
        return grid

    def relations(self, grid: NDArray[np.generic], *, links: VoteMode = "T", ends: VoteMode = "L") -> Relations:
        """Return the relations in a grid [n, n, labels] of probabilities (or of gold tags, which are 0 and 1).

        A relation is as probable as the weaker of its two tags (mode T) or the stronger one (mode L). With one tag for
        each relation (NNW+THW, PNW+HTW) the modes are the same.
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
    scores: NDArray[np.floating], *, one_label: bool = False, group_labels: NDArray[np.bool_] | None = None
) -> NDArray[np.floating]:
    """Return probabilities [..., labels] of scores, above 0.5 exactly where a tag is predicted.

    If a cell can have any number of tags, those with a score above 0 are predicted. With `one_label` (W2NER, whose last
    score is that of "none") it is the one with the best score, and its lead over the best of the others counts. With
    the `group_labels` of several groups [groups, labels], each group has its best; for a label of several groups its
    largest lead counts. The result has double precision, so that probabilities near 1 can be told apart.
    """
    if one_label and (group_labels is None or len(group_labels) == 1):
        scores = _lead(scores)[..., :-1]
    elif one_label and group_labels is not None:
        leads = np.full_like(scores[..., :-1], -np.inf)
        for belongs in group_labels:
            labels = np.flatnonzero(belongs)
            leads[..., labels] = np.maximum(leads[..., labels], _lead(scores[..., [*labels, -1]])[..., :-1])
        scores = leads
    result: NDArray[np.floating] = 1 / (1 + np.exp(-scores.astype(np.float64).clip(-50, 50)))
    return result


def _lead(scores: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return by how much each score exceeds the best of the others."""
    order = np.sort(scores, axis=-1)
    best, second = order[..., -1:], order[..., -2:-1]
    return scores - np.where(scores == best, second, best)


def shift_threshold(
    probabilities: NDArray[np.floating], threshold: float | NDArray[np.floating]
) -> NDArray[np.floating]:
    """Return probabilities [..., channels] moved so that `threshold` becomes 0.5; their order stays.

    The threshold is the same for all channels, or one for each.
    """
    if np.all(threshold == 0.5):
        return probabilities
    above = probabilities * (1 - threshold)
    result: NDArray[np.floating] = above / (above + (1 - probabilities) * threshold)
    return result


class GazetteerName(NamedTuple):
    """A name of the gazetteer in a sentence: the number of its type, and its words."""

    type: int
    words: tuple[int, ...]


def with_name_bonus(
    relations: Relations,
    names: Collection[GazetteerName],
    bonus: float | Sequence[float],
    *,
    group_types: Sequence[Collection[int]] | None = None,
) -> Relations:
    """Return the relations with `bonus` added to the log-odds of names, and a share of it for names with a gap.

    The bonus is the same for all groups of types, or one for each. `group_types` has the numbers of each group's types
    (None: one group has all). A name's links are those of the groups that have its type.
    """
    bonuses = [bonus] * (1 if group_types is None else len(group_types)) if isinstance(bonus, float | int) else bonus
    if not names or not any(bonuses):
        return relations
    links: dict[tuple[int, ...], float] = {}
    ends: dict[tuple[int, ...], float] = {}
    for name in names:
        share = 1.0 if name.words[-1] - name.words[0] < len(name.words) else WITH_GAP
        groups = [0] if group_types is None else [n for n, types in enumerate(group_types) if name.type in types]
        for (word, next_word), group in product(pairwise(name.words), groups):
            links[word, next_word, group] = max(share * bonuses[group], links.get((word, next_word, group), 0.0))
        end = (name.words[0], name.words[-1], name.type)
        ends[end] = max(ends.get(end, 0.0), *(share * bonuses[group] for group in groups))
    return Relations(_raised(relations.links, links), _raised(relations.ends, ends))


def _raised(grid: NDArray[np.floating], bonuses: Mapping[tuple[int, ...], float]) -> NDArray[np.floating]:
    """Return a grid of probabilities with bonuses added to the log-odds of some cells."""
    if not bonuses:
        return grid
    raised = grid.copy()
    cells = tuple(np.array(list(bonuses)).T)
    more = grid[cells] * np.exp(np.array(list(bonuses.values()), dtype=grid.dtype))
    raised[cells] = more / (more + 1 - grid[cells])
    return raised


def _combine(
    forward: NDArray[np.generic] | None, backward: NDArray[np.generic] | None, mode: VoteMode
) -> NDArray[np.floating]:
    if mode not in ("T", "L"):
        raise UsageError(f"mode {mode!r}, expected T (both tags) or L (either tag)")
    both = [scores for scores in (forward, backward) if scores is not None]
    combine = np.minimum if mode == "T" else np.maximum
    result: NDArray[np.floating] = both[0] if len(both) == 1 else combine(both[0], both[1])  # type: ignore[assignment]
    return result
