"""A function of many inputs, on several threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Input = TypeVar("Input")
Result = TypeVar("Result")


def map_in_order(
    function: Callable[[Input], Result], inputs: Sequence[Input], *, workers: int
) -> Generator[Result, None, None]:
    """Yield the result of each input, in order. Each worker is at most one input ahead."""
    workers = min(workers, len(inputs))
    if workers <= 1:
        yield from map(function, inputs)
        return
    with ThreadPoolExecutor(workers) as pool:
        ahead: deque[Future[Result]] = deque()
        try:
            for one in inputs:
                ahead.append(pool.submit(function, one))
                if len(ahead) > workers:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for future in ahead:  # nobody wants them any more
                future.cancel()
