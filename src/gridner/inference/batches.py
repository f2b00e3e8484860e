"""Plans of batches: sentences of similar length together, under a budget, at the least cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence

# Measured with MiniLM on a CPU: with another encoder the batches only lose some speed.
READ_COST = 30  # pieces that cost as much as a call of the encoder
WORD_COST = 20  # cells of the grid that cost as much as one of its words
TAG_COST = 400  # cells that cost as much as a call of the grid's network


def plan_encoder_batches(lengths: Sequence[int], *, most: int) -> list[list[int]]:
    """Group sentences, given by their number of pieces, into batches of at most `most` pieces with padding."""
    return _plan(lengths, batch_cost=READ_COST, cost=lambda n: n, fits=lambda n: most // n)


def plan_grid_batches(lengths: Sequence[int], *, cells: int, batch_cost: int = TAG_COST) -> list[list[int]]:
    """Group sentences, given by their number of words, into batches of at most `cells` grid cells with padding."""
    return _plan(lengths, batch_cost=batch_cost, cost=lambda n: (n + WORD_COST) * n, fits=lambda n: cells // n**2)


def _plan(
    lengths: Sequence[int], *, batch_cost: int, cost: Callable[[int], int], fits: Callable[[int], int]
) -> list[list[int]]:
    """Return the numbers of the sentences in batches, shortest first.

    The sentences are sorted by length and cut into batches in the cheapest way: a sentence costs as much as the longest
    of its batch, and each batch costs `batch_cost` more. `fits` says how many sentences of a length may share a batch.
    A sentence that does not fit at all is a batch of its own.
    """
    order = sorted(range(len(lengths)), key=lambda number: (lengths[number], number))
    least, begins = [0], [0]  # cost of the shortest so many sentences, and where the last batch of them begins
    for end, number in enumerate(order, start=1):
        length = max(1, lengths[number])
        sentence_cost, most = cost(length), max(1, fits(length))
        costs = (
            (least[begin] + batch_cost + (end - begin) * sentence_cost, begin)
            for begin in range(max(0, end - most), end)
        )
        total, begin = min(costs)
        least.append(total)
        begins.append(begin)
    batches: list[list[int]] = []
    end = len(order)
    while end:
        batches.append(order[begins[end] : end])
        end = begins[end]
    return batches[::-1]
