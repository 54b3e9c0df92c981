"""The proof that new weights are the ones that answer.

Whoever trained them wrote down the log-probs of a few sequences before and after (components/
update). The server is asked for the same sequences. Its answer must be the expected one within the
noise of two numerics, and it must show the whole of the change that the update made: with
d = expected - before, the share t = <answer - before, d> / <d, d> is 1 for the new weights, 0 for
the old ones, and something between if a part was left behind (a packed output layer).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, inf, sqrt

from components.errors import RolewiseError
from components.probes import Probe
from components.settings import RolloutConfig

MIN_SHARE, MAX_SHARE = 0.75, 1.25
MAX_ERROR = 0.1
"""Standard error of the share above which it says nothing: the update was too small to be seen."""


class StaleWeights(RolewiseError):
    """A server answers with other weights than those that it was told to load."""


@dataclass(frozen=True)
class Verdict:
    """What a probe found."""

    gap: float
    """Mean |answer - expected|, in nats per token."""
    share: float
    """Of the update's change that the answers show; 1 if all of it."""
    error: float
    """Standard error of the share."""

    @property
    def conclusive(self) -> bool:
        """Whether the share alone tells old weights from new ones."""
        return self.error <= MAX_ERROR

    def __str__(self) -> str:
        shown = (
            f"{self.share:.1%} of the update's change" if self.conclusive else "too small a change"
        )
        return f"gap {self.gap:.2g} nats, {shown}"


def judge(probe: Probe, answers: Sequence[Sequence[float]]) -> Verdict:
    """Compare a server's log-probs of the probe's sequences with what was written down.

    `answers`: `[num_sequences][num_tokens]` of the completion tokens.
    """
    found = [value for each in answers for value in each]
    after = [value for each in probe.after for value in each]
    before = [value for each in probe.before for value in each]
    if len(found) != len(after):
        raise RolewiseError(f"a probe of {len(after)} tokens got {len(found)} log-probs")
    change = [new - old for new, old in zip(after, before, strict=True)]
    moved = [value - old for value, old in zip(found, before, strict=True)]
    size = fsum(value * value for value in change)
    gap = fsum(abs(value - new) for value, new in zip(found, after, strict=True)) / len(found)
    if not size:
        return Verdict(gap, 1.0, inf)
    share = fsum(a * b for a, b in zip(moved, change, strict=True)) / size
    rest = fsum((a - share * b) ** 2 for a, b in zip(moved, change, strict=True))
    return Verdict(gap, share, sqrt(rest / len(found) / size))


def max_gap(settings: RolloutConfig) -> float:
    """The largest gap that two numerics may leave."""
    if settings.server and settings.server.max_probe_gap:
        return settings.server.max_probe_gap
    if settings.quantization:
        return 0.5
    return 0.001 if settings.dtype == "float32" else 0.2


def check(verdict: Verdict, limit: float, who: str) -> None:
    """StaleWeights if the answers are not those of the weights; `who` names server and policy."""
    if not verdict.gap <= limit:
        raise StaleWeights(
            f"{who}: answers with other weights: mean |log-prob - expected| of the probe is "
            f"{verdict.gap:.4g}, limit {limit:g} (rollout.server.max_probe_gap)"
        )
    if verdict.conclusive and not MIN_SHARE <= verdict.share <= MAX_SHARE:
        raise StaleWeights(
            f"{who}: answers with stale weights: {verdict.share:.1%} of the update's change is in "
            f"its log-probs, expected 100 % (+- {verdict.error:.1%})"
        )
