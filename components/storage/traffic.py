"""How far the large transfers of a store have come, as progress lines."""

from collections.abc import Callable
from threading import Lock

from components.progress import progress

Report = Callable[[str, int, int], None]
"""Called with `upload` or `download`, bytes moved, bytes in all."""
MB = 10**6
REPORTED_BYTES = 64 * MB
"""Less at a time is over before anyone would ask."""


class Traffic:
    """Bytes of all transfers that are under way together. Safe to use from several threads."""

    def __init__(self, report: Report | None = None) -> None:
        self._report, self._lock = report, Lock()
        self._moved = {"upload": 0, "download": 0}
        self._total = {"upload": 0, "download": 0}

    def begin(self, way: str, num_bytes: int) -> None:
        """A transfer joins those under way."""
        with self._lock:
            self._total[way] += num_bytes

    def moved(self, way: str, num_bytes: int) -> None:
        """So many bytes more are over; when all are, counting begins again."""
        with self._lock:
            self._moved[way] += num_bytes
            done, total = self._moved[way], self._total[way]
            if done >= total:
                self._moved[way] = self._total[way] = 0
            if self._report and total >= REPORTED_BYTES:
                self._report(way, done, total)

    def gave_up(self, way: str) -> None:
        """A transfer failed: what it had announced will not come."""
        with self._lock:
            self._moved[way] = self._total[way] = 0


def print_progress(way: str, done: int, total: int) -> None:
    """A Report for steps: a line that the driver shows."""
    progress(way, done // MB, total // MB, "MB")
