"""Relations → mentions with scores, in polynomial time.

A mention of type t is a path of links from a head to its tail; its score is the weakest of its links and of its
head–tail relation. A grid can hold exponentially many paths, so each head–tail cell gives its `k` best, found from the
tail backwards: the k best suffixes of a word come from the k best of the words it links to. What the caps leave out is
counted. Below the caps the result is every path.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridner.errors import UsageError
from gridner.tagging.tags import Relations
from gridner.text.sentences import Mention

Candidate = tuple[float, tuple[int, ...], int]  # score, words, type
Link = tuple[int, int, float]  # a word, the next one of a mention, score
End = tuple[int, int, int, float]  # head, tail, type, score
SPARSE = 250  # links × tails / words up to which walking beats sweeping (benchmarks/decode.py)


@dataclass(frozen=True, slots=True)
class Decoded:
    """The mentions of a sentence in text order, and what the caps left out."""

    mentions: tuple[Mention, ...]
    capped_cells: int = 0  # head–tail cells with more than k paths
    capped_mentions: int = 0  # mentions found, but past the limit for a sentence


def decode(
    relations: Relations,
    types: Sequence[str],
    *,
    members: Sequence[Sequence[int]] | None = None,
    threshold: float = 0.5,
    k: int = 8,
    limit: int = 1000,
) -> Decoded:
    """The mentions whose score exceeds `threshold`: at most `k` for a head–tail cell, at most `limit` in all.

    `members` has for each group of types their numbers (None: one group has all types). Each group is decoded by
    itself, with its own links. A mention that several groups give has its best score.
    """
    if not 0 <= threshold <= 1 or k < 1 or limit < 1:
        raise UsageError(f"threshold {threshold}, k {k}, limit {limit}: expected 0 <= threshold <= 1, k and limit >= 1")
    members = [range(len(types))] if members is None else members
    at = np.nonzero(relations.ends > threshold)
    ends = [(i, j, t, score) for i, j, t, score in _listed(at, relations.ends) if i <= j]
    if not ends:
        return Decoded(())
    if len(members) == 1:
        found = _decode_group(relations.links[:, :, 0], relations.ends, ends, threshold, k, limit)
    else:
        found = _joined(list(_each_group(relations, members, ends, threshold, k, limit)), limit)
    return _decoded(found, types)


def decode_few(
    links: Iterable[Link], ends: Iterable[End], types: Sequence[str], *, k: int = 8, limit: int = 1000
) -> Decoded:
    """The same from a list of relations that hold, for sentences whose grid would not fit into memory."""
    return _decoded(_walk(list(links), list(ends), k, limit), types)


def _listed(at: tuple[NDArray[np.intp], ...], scores: NDArray[np.floating]) -> Iterator[tuple[Any, ...]]:
    return zip(*(axis.tolist() for axis in at), scores[at].tolist(), strict=True)


def _decoded(found: _Found, types: Sequence[str]) -> Decoded:
    mentions = sorted((words, types[t], score) for score, words, t in found.candidates)
    return Decoded(
        mentions=tuple(Mention(name, words, score) for words, name, score in mentions),
        capped_cells=found.capped_cells,
        capped_mentions=found.total - len(mentions),
    )


@dataclass(frozen=True, slots=True)
class _Found:
    candidates: list[Candidate]  # the best, at most the limit
    total: int
    capped_cells: int


def _each_group(
    relations: Relations, members: Sequence[Sequence[int]], ends: Sequence[End], threshold: float, k: int, limit: int
) -> Iterator[_Found]:
    """Yield what each group with head–tail cells gives."""
    for number, own in enumerate(members):
        place = {t: new for new, t in enumerate(own)}
        if some := [(i, j, place[t], score) for i, j, t, score in ends if t in place]:
            links, grid = relations.links[:, :, number], relations.ends[:, :, list(own)]
            found = _decode_group(links, grid, some, threshold, k, limit)
            candidates = [(score, words, own[t]) for score, words, t in found.candidates]
            yield replace(found, candidates=candidates)


def _joined(groups: Sequence[_Found], limit: int) -> _Found:
    """Put together what groups give. What two give counts once, with its best score."""
    best: dict[tuple[tuple[int, ...], int], float] = {}
    given = 0
    for score, words, t in (candidate for found in groups for candidate in found.candidates):
        given += 1
        best[words, t] = max(score, best.get((words, t), 0.0))
    candidates = [(score, words, t) for (words, t), score in best.items()]
    total = sum(found.total for found in groups) - given + len(candidates)
    kept = candidates if len(candidates) <= limit else nlargest(limit, candidates)
    return _Found(kept, total, sum(found.capped_cells for found in groups))


def _decode_group(
    links: NDArray[np.floating], grid: NDArray[np.floating], ends: Sequence[End], threshold: float, k: int, limit: int
) -> _Found:
    """Decode with links [n, n] and head–tail relations [n, n, types], of which `ends` exceed the threshold."""
    pairs = [(i, m, score) for i, m, score in _listed(np.nonzero(links > threshold), links) if i < m]
    if len(pairs) * len({j for _, j, _, _ in ends}) <= SPARSE * len(links):
        return _walk(pairs, ends, k, limit)
    return _sweep(links, grid, threshold, k, limit)


def _walk(links: Sequence[Link], ends: Sequence[End], k: int, limit: int) -> _Found:
    """Word by word along the links, which is quick where they are few."""
    following: dict[int, list[tuple[int, float]]] = defaultdict(list)
    before: dict[int, list[int]] = defaultdict(list)
    for i, m, link in links:
        following[i].append((m, link))
        before[m].append(i)
    by_tail: dict[int, list[tuple[int, int, float]]] = defaultdict(list)
    for i, j, t, end in ends:
        by_tail[j].append((i, t, end))
    candidates: list[Candidate] = []
    capped = 0
    for tail, heads in by_tail.items():
        first = min(i for i, _, _ in heads)
        suffixes: dict[int, list[tuple[float, tuple[int, ...]]]] = {tail: [(1.0, (tail,))]}
        paths = {tail: 1}  # how many there are; only whether it exceeds k matters
        for word in _reaching(tail, before, first):
            found = [
                (min(link, score), (word, *rest))
                for m, link in following[word]
                if m in suffixes
                for score, rest in suffixes[m]
            ]
            suffixes[word] = found if len(found) <= k else nlargest(k, found)
            paths[word] = min(k + 1, sum(paths[m] for m, _ in following[word] if m in paths))
        for head, t, end in heads:
            candidates += [(min(end, score), words, t) for score, words in suffixes.get(head, ())]
            capped += paths.get(head, 0) > k
    best = candidates if len(candidates) <= limit else nlargest(limit, candidates)
    return _Found(best, len(candidates), capped)


def _reaching(tail: int, before: dict[int, list[int]], first: int) -> list[int]:
    """The words from `first` on that can reach `tail`, last word first."""
    seen: set[int] = set()
    stack = [tail]
    while stack:
        for word in before.get(stack.pop(), ()):
            if word >= first and word not in seen:
                seen.add(word)
                stack.append(word)
    return sorted(seen, reverse=True)


def _sweep(links: NDArray[np.floating], ends: NDArray[np.floating], threshold: float, k: int, limit: int) -> _Found:
    """All tails at once with whole arrays, which is quick where links are many."""
    n = len(links)
    links = np.where(np.triu(links > threshold, 1), links, 0)
    ends = np.where(np.triu(np.ones((n, n), dtype=bool))[:, :, None] & (ends > threshold), ends, 0)
    best = np.zeros((n, n, k), dtype=links.dtype)  # [word, tail, rank]: the score of a suffix, 0 for none
    next_word = np.zeros((n, n, k), dtype=np.int32)
    next_rank = np.zeros((n, n, k), dtype=np.int32)
    paths = np.eye(n)  # [word, tail]: how many suffixes there are; only whether it exceeds k matters
    best[np.arange(n), np.arange(n), 0] = 1
    for word in range(n - 2, -1, -1):
        later = word + 1 + np.flatnonzero(links[word, word + 1 :])
        if not len(later):
            continue
        scores = np.minimum(links[word, later, None, None], best[later, word + 1 :])  # [later, tail, rank]
        flat = scores.swapaxes(0, 1).reshape(n - word - 1, -1)
        if flat.shape[1] > k:
            chosen = np.argpartition(flat, -k, axis=1)[:, -k:]
        else:
            chosen = np.broadcast_to(np.arange(flat.shape[1]), flat.shape)
        width = chosen.shape[1]
        best[word, word + 1 :, :width] = np.take_along_axis(flat, chosen, axis=1)
        next_word[word, word + 1 :, :width] = later[chosen // k]
        next_rank[word, word + 1 :, :width] = chosen % k
        paths[word, word + 1 :] = np.minimum(paths[later, word + 1 :].sum(axis=0), k + 1)
    scores = np.minimum(ends[:, :, :, None], best[:, :, None, :])  # [head, tail, type, rank]
    found = np.flatnonzero(scores)
    order = found[np.argsort(-scores.ravel()[found], kind="stable")]
    candidates: list[Candidate] = []
    for place in order[:limit].tolist():
        head, tail, t, rank = (int(axis) for axis in np.unravel_index(place, scores.shape))
        candidates.append((float(scores[head, tail, t, rank]), _follow(head, tail, rank, next_word, next_rank), t))
    return _Found(candidates, len(order), int(((ends > 0) & (paths > k)[:, :, None]).sum()))


def _follow(
    word: int, tail: int, rank: int, next_word: NDArray[np.int32], next_rank: NDArray[np.int32]
) -> tuple[int, ...]:
    words = [word]
    while word != tail:
        word, rank = int(next_word[word, tail, rank]), int(next_rank[word, tail, rank])
        words.append(word)
    return tuple(words)
