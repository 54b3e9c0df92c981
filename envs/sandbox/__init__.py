"""Runs programs written by models, with nothing of the host within their reach.

    sandbox = open_sandbox(SandboxOptions())
    result = sandbox.run(Run("print(int(input()) + 1)", stdin="41"))
    judged(result, expected="42")

Judging happens outside the run, by comparing outputs; `README.md` says what is guaranteed.
"""

from envs.sandbox.guarantees import Guarantees, SandboxUnavailable
from envs.sandbox.options import GUARANTEES, SandboxOptions
from envs.sandbox.results import Outcome, Result, Run, judged, same_tokens
from envs.sandbox.sandbox import Sandbox, open_sandbox, probe

__all__ = [
    "GUARANTEES",
    "Guarantees",
    "Outcome",
    "Result",
    "Run",
    "Sandbox",
    "SandboxOptions",
    "SandboxUnavailable",
    "judged",
    "open_sandbox",
    "probe",
    "same_tokens",
]
