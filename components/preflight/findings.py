"""What a check found: one line each, with the fix where there is something to mend."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from components.errors import RolewiseError


class Level(StrEnum):
    """How a check ended."""

    OK = "ok"
    WARN = "warn"
    """The run would start; something was not seen, or is likely to hurt."""
    FAIL = "fail"
    """The run would end in an error."""


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    level: Level
    subject: str
    """What was checked, e.g. `policy planner`."""
    message: str
    fix: str = ""
    """What to do; empty if nothing is to be done."""

    def line(self, width: int) -> str:
        """Aligned: level, subject, message and fix."""
        text = f"{self.level.value:<4}  {self.subject:<{width}}  {self.message}"
        return f"{text}; {self.fix}" if self.fix else text


Check = Callable[[], Iterable[Finding]]
"""Looks at one subject. A RolewiseError, ValueError or OSError that it raises is a failure."""


def ok(subject: str, message: str) -> Finding:
    """Nothing to do."""
    return Finding(Level.OK, subject, message)


def warn(subject: str, message: str, fix: str) -> Finding:
    """Worth a look."""
    return Finding(Level.WARN, subject, message, fix)


def fail(subject: str, message: str, fix: str = "") -> Finding:
    """Must be mended."""
    return Finding(Level.FAIL, subject, message, fix)


def run_checks(checks: Sequence[tuple[str, Check]]) -> Iterator[Finding]:
    """All findings as they come; a check that raises is one failure and stops no other."""
    for subject, check in checks:
        try:
            yield from check()
        except (RolewiseError, ValueError, OSError) as error:
            for line in str(error).splitlines() or [type(error).__name__]:
                yield fail(subject, " ".join(line.split()))


def worst(findings: Iterable[Finding]) -> Level:
    """FAIL before WARN before OK."""
    levels = {finding.level for finding in findings}
    return next((level for level in (Level.FAIL, Level.WARN) if level in levels), Level.OK)
