"""Why a run on a cluster failed, or does not start, in a sentence that names the fix.

The API's runs and tasks carry no reason. It is in the last line that the step printed, or in the
words of Argo and Kubernetes about its pod: no image, no quota, no node, no memory, no time.
"""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from pipelines.api import Api, Run
from pipelines.refusals import ApiError
from pipelines.workflow import ENDED_BADLY, Pod, last_attempts, pods

LOOK_S = 60.0
"""Between two looks at pods that wait."""
_SAID = re.compile(r"^\s*error: (\w[\w.-]* \(run .*)$", re.MULTILINE)


class Hint(NamedTuple):
    """What to do about a message of Argo or Kubernetes."""

    pattern: str
    fix: str


HINTS = (
    Hint(
        r"ErrImagePull|ImagePullBackOff|InvalidImageName|ErrImageNeverPull|failed to pull",
        "give an image that the registry has by --images or --set-image RUNTIME=IMAGE, and where "
        "it asks who pulls, image_pull_secrets in the profile",
    ),
    Hint(
        r"exceeded quota",
        "raise the namespace's quota, wait until others end, or book less for steps.{step} of the "
        "profile (cpu, memory, accelerator)",
    ),
    Hint(
        r"Unschedulable|Insufficient|nodes are available|didn't match",
        "no node has what steps.{step} of the profile books (cpu, memory, accelerator, "
        "node_selector, tolerations): book less, or add a node",
    ),
    Hint(
        r"serviceaccounts? .*not found",
        "create the service account (docs/deployment.md), or name another by --service-account",
    ),
    Hint(
        r"secret .*not found|couldn't find key|CreateContainerConfigError",
        "create the secret with the keys that the profile names (docs/cluster.md)",
    ),
    Hint(r"OOMKilled|exit code 137", "raise memory of steps.{step} in the profile"),
    Hint(r"deadline", "raise timeout_s of steps.{step} in the profile"),
    Hint(r"[Ee]victed|[Pp]reempt|node.* (shut|lost)", "the node went away: --retries repeats it"),
)


def fault(api: Api, run: Run) -> str:
    """What is known of a failure."""
    if told := run.fault():
        return told
    try:
        last = last_attempts(pods(api.workflow(run.id))).values()
    except ApiError as error:
        return f"the API gives no reason ({error}); the run's page has the steps' logs"
    failed = sorted(
        (pod for pod in last if pod.phase in ENDED_BADLY), key=lambda pod: pod.finished or "~"
    )
    if not failed:
        return "no pod of it failed; the run's page may say more"
    return of_pod(api, run.id, failed[0])


def of_pod(api: Api, run_id: str, pod: Pod) -> str:
    """The step's own sentence, else its pod's with the fix, else the end of its log."""
    try:
        log = api.log(run_id, pod.name)
    except ApiError:  # no pod was ever made, or it is gone and nothing was archived
        log = ""
    if said := _SAID.search(log):
        return said[1]
    sentence = f"{pod.step}: {pod.message or pod.phase}"
    if hint := hint_of(pod.message):
        return f"{sentence}; {_fix(hint, pod)}"
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return f"{sentence}; its log ends: {lines[-1]}" if lines else sentence


def hint_of(message: str) -> Hint | None:
    """The first hint that fits."""
    return next((hint for hint in HINTS if re.search(hint.pattern, message)), None)


def waits(found: list[Pod]) -> Iterator[tuple[tuple[str, str], str]]:
    """(step and kind, sentence) of each pod that waits for something that can be given."""
    for pod in found:
        hint = hint_of(pod.message) if pod.phase == "Pending" else None
        if hint:
            yield (pod.step, hint.pattern), f"{pod.step} waits: {pod.message}; {_fix(hint, pod)}"


@dataclass
class WaitingPods:
    """Says once of each step of a run why it waits, if there is something to do about it."""

    api: Api
    run_id: str
    say: Callable[[str], None]
    every_s: float = LOOK_S
    _next: float = field(init=False)
    _told: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._next = time.monotonic() + self.every_s

    def look(self) -> None:
        """Ask the API, if it is time to; an API that does not tell is not asked again."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self.every_s
        try:
            found = pods(self.api.workflow(self.run_id))
        except ApiError:
            self._next = float("inf")
            return
        for subject, sentence in waits(found):
            if subject not in self._told:
                self._told.add(subject)
                self.say(sentence)


def _fix(hint: Hint, pod: Pod) -> str:
    step = re.sub(r"-\d+$", "", pod.step.removesuffix("-driver")).replace("-", "_")
    return hint.fix.format(step=step)
