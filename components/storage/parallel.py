"""The same work on many items, several at a time; the first failure ends it."""

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_parallel(
    work: Callable[[Item], Result], items: Iterable[Item], concurrency: int
) -> list[Result]:
    """The results in the items' order. What has not begun when one fails is never begun."""
    with ThreadPoolExecutor(max_workers=concurrency) as pool:
        futures = [pool.submit(work, item) for item in items]
        try:
            failed = [f for f in wait(futures, return_when=FIRST_EXCEPTION).done if f.exception()]
            return [future.result() for future in failed or futures]
        finally:  # also Ctrl-C: what waits is dropped, then it rises
            pool.shutdown(cancel_futures=True)
