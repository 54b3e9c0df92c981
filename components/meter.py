"""Where a step's time goes: wall and CPU seconds by kind of work.

Kinds never overlap: what is measured inside another measurement is taken out of it. So the kinds
and the rest add up to the step's time.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import get_ident

from components.process import cpu_s


@dataclass(frozen=True)
class Usage:
    """Seconds on the clock and of the CPU, all threads and all ended children included."""

    wall_s: float = 0.0
    cpu_s: float = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(self.wall_s + other.wall_s, self.cpu_s + other.cpu_s)

    def __sub__(self, other: "Usage") -> "Usage":
        return Usage(self.wall_s - other.wall_s, self.cpu_s - other.cpu_s)


class Meter:
    """Measures from its making on. Other threads than its maker's go unmeasured."""

    def __init__(self) -> None:
        self._begun = _now()
        self._spent: dict[str, Usage] = {}
        self._inner = Usage()
        self._thread = get_ident()

    @contextmanager
    def measure(self, kind: str) -> Iterator[None]:
        """Book what happens inside as `kind`, also if it fails."""
        if get_ident() != self._thread:
            yield
            return
        begun, around = _now(), self._inner
        self._inner = Usage()
        try:
            yield
        finally:
            spent = _now() - begun
            self._spent[kind] = self._spent.get(kind, Usage()) + spent - self._inner
            self._inner = around + spent

    def kinds(self) -> dict[str, float]:
        """`<kind>_s` and `<kind>_cpu_s` of all that was measured."""
        return {
            name: value
            for kind, spent in self._spent.items()
            for name, value in ((f"{kind}_s", spent.wall_s), (f"{kind}_cpu_s", spent.cpu_s))
        }

    def totals(self) -> dict[str, float]:
        """`wall_s` and `cpu_s` since the meter was made, all kinds included."""
        spent = _now() - self._begun
        return {"wall_s": spent.wall_s, "cpu_s": spent.cpu_s}


def _now() -> Usage:
    return Usage(time.perf_counter(), cpu_s())
