"""Relations → mentions with scores, in polynomial time.

A mention of type t is a path of links from a head to its tail; its score is the weakest of its links and of its
head–tail relation. A grid can hold exponentially many paths, so each head–tail cell gives its `k` best, found from the
tail backwards: the k best suffixes of a word come from the k best of the words it links to. The result counts what the
caps leave out. Below the caps it has every path.
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
from gridner.text.alignment import Mention

Candidate = tuple[float, tuple[int, ...], int]  # score, words, type
Link = tuple[int, int, float]  # a word, the next one of a mention, score
End = tuple[int, int, int, float]  # head, tail, type, score
PATHS_PER_CELL, MENTIONS_PER_SENTENCE = 8, 1000  # caps
SPARSE = 250  # links × tails / words up to which `_walk` is faster than `_sweep` (benchmarks/decode.py)


@dataclass(frozen=True, slots=True)
class Decoded:
    """The mentions of a sentence in text order, and counts of what the caps left out."""

    mentions: tuple[Mention, ...]
    capped_cells: int = 0  # head–tail cells with more than k paths
    capped_mentions: int = 0  # mentions found, but past the limit for a sentence


def decode(
    relations: Relations,
    types: Sequence[str],
    *,
    group_types: Sequence[Sequence[int]] | None = None,
    threshold: float | Sequence[float] = 0.5,
    k: int = PATHS_PER_CELL,
    limit: int = MENTIONS_PER_SENTENCE,
) -> Decoded:
    """Return the mentions whose score exceeds `threshold`: at most `k` for a head–tail cell, at most `limit` in all.

    `group_types` has the numbers of each group's types (None: one group has all). Each group is decoded by itself, with
    its own links and, if there are several thresholds, with its own threshold. A mention found in several groups gets
    its best score.
    """
    group_types = [range(len(types))] if group_types is None else group_types
    thresholds = [threshold] * len(group_types) if isinstance(threshold, float | int) else threshold
    if not all(0 <= least <= 1 for least in thresholds) or k < 1 or limit < 1:
        raise UsageError(f"threshold {threshold}, k {k}, limit {limit}: expected 0 <= threshold <= 1, k and limit >= 1")
    above = np.nonzero(relations.ends > min(thresholds))
    ends = [(i, j, t, score) for i, j, t, score in _listed(above, relations.ends) if i <= j]
    if not ends:
        return Decoded(())
    if len(group_types) == 1:
        paths = _decode_group(relations.links[:, :, 0], relations.ends, ends, thresholds[0], k, limit)
    else:
        paths = _joined(list(_each_group(relations, group_types, ends, thresholds, k, limit)), limit)
    return _decoded(paths, types)


def decode_sparse(links: Iterable[Link], ends: Iterable[End], types: Sequence[str]) -> Decoded:
    """Decode lists of the relations that hold, for sentences whose grid would not fit into memory."""
    return _decoded(_walk(list(links), list(ends), PATHS_PER_CELL, MENTIONS_PER_SENTENCE), types)


def _listed(cells: tuple[NDArray[np.intp], ...], scores: NDArray[np.floating]) -> Iterator[tuple[Any, ...]]:
    return zip(*(axis.tolist() for axis in cells), scores[cells].tolist(), strict=True)


def _decoded(paths: _Paths, types: Sequence[str]) -> Decoded:
    mentions = sorted((words, types[t], score) for score, words, t in paths.best)
    return Decoded(
        mentions=tuple(Mention(name, words, score) for words, name, score in mentions),
        capped_cells=paths.capped_cells,
        capped_mentions=paths.total - len(mentions),
    )


@dataclass(frozen=True, slots=True)
class _Paths:
    """The paths from heads to tails of a sentence."""

    best: list[Candidate]  # at most the limit
    total: int
    capped_cells: int


def _each_group(
    relations: Relations,
    group_types: Sequence[Sequence[int]],
    ends: Sequence[End],
    thresholds: Sequence[float],
    k: int,
    limit: int,
) -> Iterator[_Paths]:
    """Yield the paths of each group with head–tail cells."""
    for number, (types, threshold) in enumerate(zip(group_types, thresholds, strict=True)):
        place = {t: new for new, t in enumerate(types)}
        if group_ends := [(i, j, place[t], score) for i, j, t, score in ends if t in place and score > threshold]:
            links, grid = relations.links[:, :, number], relations.ends[:, :, list(types)]
            paths = _decode_group(links, grid, group_ends, threshold, k, limit)
            best = [(score, words, types[t]) for score, words, t in paths.best]
            yield replace(paths, best=best)


def _joined(groups: Sequence[_Paths], limit: int) -> _Paths:
    """Return the paths of all groups. A path of several groups counts once, with its best score."""
    best_score: dict[tuple[tuple[int, ...], int], float] = {}
    with_repeats = 0
    for score, words, t in (candidate for paths in groups for candidate in paths.best):
        with_repeats += 1
        best_score[words, t] = max(score, best_score.get((words, t), 0.0))
    candidates = [(score, words, t) for (words, t), score in best_score.items()]
    total = sum(paths.total for paths in groups) - with_repeats + len(candidates)
    best = candidates if len(candidates) <= limit else nlargest(limit, candidates)
    return _Paths(best, total, sum(paths.capped_cells for paths in groups))


def _decode_group(
    links: NDArray[np.floating], grid: NDArray[np.floating], ends: Sequence[End], threshold: float, k: int, limit: int
) -> _Paths:
    """Return the paths of links [n, n] between the head–tail relations [n, n, types]; `ends` exceed the threshold."""
    pairs = [(i, m, score) for i, m, score in _listed(np.nonzero(links > threshold), links) if i < m]
    if len(pairs) * len({j for _, j, _, _ in ends}) <= SPARSE * len(links):
        return _walk(pairs, ends, k, limit)
    return _sweep(links, grid, threshold, k, limit)


def _walk(links: Sequence[Link], ends: Sequence[End], k: int, limit: int) -> _Paths:
    """Find paths word by word along the links, which is fast if they are few."""
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
        paths = {tail: 1}  # number of suffixes; only whether it exceeds k matters
        for word in _reaching(tail, before, first):
            longer = [
                (min(link, score), (word, *rest))
                for m, link in following[word]
                if m in suffixes
                for score, rest in suffixes[m]
            ]
            suffixes[word] = longer if len(longer) <= k else nlargest(k, longer)
            paths[word] = min(k + 1, sum(paths[m] for m, _ in following[word] if m in paths))
        for head, t, end in heads:
            candidates += [(min(end, score), words, t) for score, words in suffixes.get(head, ())]
            capped += paths.get(head, 0) > k
    best = candidates if len(candidates) <= limit else nlargest(limit, candidates)
    return _Paths(best, len(candidates), capped)


def _reaching(tail: int, before: dict[int, list[int]], first: int) -> list[int]:
    """Return the words from `first` on that can reach `tail`, last word first."""
    seen: set[int] = set()
    stack = [tail]
    while stack:
        for word in before.get(stack.pop(), ()):
            if word >= first and word not in seen:
                seen.add(word)
                stack.append(word)
    return sorted(seen, reverse=True)


def _sweep(links: NDArray[np.floating], ends: NDArray[np.floating], threshold: float, k: int, limit: int) -> _Paths:
    """Find the paths to all tails at once with whole arrays, which is fast if links are many."""
    n = len(links)
    links = np.where(np.triu(links > threshold, 1), links, 0)
    ends = np.where(np.triu(np.ones((n, n), dtype=bool))[:, :, None] & (ends > threshold), ends, 0)
    best = np.zeros((n, n, k), dtype=links.dtype)  # [word, tail, rank]: the score of a suffix, 0 for none
    next_word = np.zeros((n, n, k), dtype=np.int32)
    next_rank = np.zeros((n, n, k), dtype=np.int32)
    paths = np.eye(n)  # [word, tail]: number of suffixes; only whether it exceeds k matters
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
    nonzero = np.flatnonzero(scores)
    order = nonzero[np.argsort(-scores.ravel()[nonzero], kind="stable")]
    candidates: list[Candidate] = []
    for index in order[:limit].tolist():
        head, tail, t, rank = (int(axis) for axis in np.unravel_index(index, scores.shape))
        candidates.append((float(scores[head, tail, t, rank]), _follow(head, tail, rank, next_word, next_rank), t))
    return _Paths(candidates, len(order), int(((ends > 0) & (paths > k)[:, :, None]).sum()))


def _follow(
    word: int, tail: int, rank: int, next_word: NDArray[np.int32], next_rank: NDArray[np.int32]
) -> tuple[int, ...]:
    """Return the words of a path."""
    words = [word]
    while word != tail:
        word, rank = int(next_word[word, tail, rank]), int(next_rank[word, tail, rank])
        words.append(word)
    return tuple(words)
