"""Cut long sentences into overlapping windows that a model can take, and merge the mentions of the windows."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from gridner.errors import UsageError
from gridner.text.alignment import Mention


def window_ranges(costs: Sequence[int], *, max_words: int, max_cost: int, overlap: int) -> list[range]:
    """Return ranges of words that together cover a sentence, each of at most `max_words` words and `max_cost` cost.

    `costs` has the number of pieces that an encoder makes of each word. Any run of at most `overlap` words that costs
    at most `max_cost` lies whole in some window. A single word that costs more than `max_cost` is a window of its own,
    which the caller must shorten.
    """
    if not 0 <= overlap < max_words:
        raise UsageError(f"overlap is {overlap}, expected at least 0 and less than max_words ({max_words})")
    if max_cost < 1:
        raise UsageError(f"max_cost is {max_cost}, expected at least 1")
    sums = [0, *accumulate(costs)]
    windows: list[range] = []
    start = end = 0
    while end < len(costs):
        end = max(end, start + 1)
        while end < len(costs) and end - start < max_words and sums[end + 1] - sums[start] <= max_cost:
            end += 1
        if not windows or end > windows[-1].stop:
            windows.append(range(start, end))
        start = max(start + 1, end - overlap)
    return windows


def merge_mentions(windows: Iterable[tuple[range, Iterable[Mention]]]) -> Iterator[Mention]:
    """Yield the mentions of a sentence, each once, from its windows in order with the mentions of each.

    The words of a mention are numbered from the start of its window. A mention is taken from the window in which it is
    farthest from an edge; the ends of the sentence do not count as edges.
    """
    found = [(window, list(mentions)) for window, mentions in windows]
    all_windows = [window for window, _ in found]
    for window, mentions in found:
        for mention in mentions:
            words = tuple(window.start + word for word in mention.words)
            if owning_window(all_windows, words[0], words[-1]) == window:
                yield replace(mention, words=words)


def owning_window(all_windows: Sequence[range], head: int, tail: int) -> range:
    """Return the window that decides about words `head` to `tail`: where they are farthest from an edge.

    The windows are in order: both their starts and their stops rise.
    """
    last = all_windows[-1].stop

    def room(window: range) -> int:
        left = head - window.start if window.start > 0 else last
        right = window.stop - 1 - tail if window.stop < last else last
        return min(left, right)

    first = bisect_right(all_windows, tail, key=lambda window: window.stop)
    after = bisect_right(all_windows, head, key=lambda window: window.start)
    return max(all_windows[first:after], key=room)
