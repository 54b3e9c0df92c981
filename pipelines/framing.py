"""What kfp's local runner puts around the output of steps, and how to take it away again.

Of a log of the runner in this process nothing is taken: there is no frame.
"""

import re
from dataclasses import dataclass

from pipelines.runner import STEP_MARK

_KFP = re.compile(r"^\d\d:\d\d:\d\d\.\d{3} - [A-Z]+ - (.*)$")
_EXECUTES = re.compile(r"^Executing task \S*?'([^']+)'$")
_HIDDEN = re.compile(
    r"^(Running pipeline: |Streamed logs:|Task .* finished with status \S*SUCCESS|"
    r"Task .* outputs:|Pipeline .* finished with status \S*SUCCESS)"
)
_EXECUTOR = re.compile(r"^ *\[KFP Executor [\d: ,-]+ [A-Z]+\]: (.*)$")
_HIDDEN_EXECUTOR = ("Looking for component ", "Loading KFP component ", "Wrote executor output ")
_RULE = "-" * 80
INDENT = "    "
"""Of a step's lines inside a frame."""


@dataclass
class Frame:
    """Takes the lines of a log in their order; of each it says what is the step's own of it."""

    inside: bool = False
    """Whether a step prints."""
    block: str = ""
    """What ends a block of lines that is left out: `    }` of a step's input, or the next message
    of kfp (`message`) after a step's outputs."""
    blanks: int = 0
    """Empty lines that are shown only if the next line is."""
    last: str = ""
    """The line that was shown last."""

    def own(self, line: str) -> list[str]:
        """The lines to show in place of this one."""
        found = self._own(line)
        if found == "":
            self.blanks += not self.last.startswith("--- ")
            return []
        blanks, self.blanks = self.blanks, 0
        if found is None or (found == self.last and found.startswith(STEP_MARK)):
            return []  # the mark is ours, kfp says the same
        self.last = found
        return [*[""] * blanks, found]

    def _own(self, line: str) -> str | None:
        message = _KFP.match(line)
        if message:
            return self._message(line, message[1])
        if line == _RULE or line.startswith("--- "):
            self.inside, self.block = False, ""
            return None if line == _RULE else line
        if self.block:
            self.block = "" if line == self.block else self.block
            return None
        if not self.inside:
            return line.rstrip()
        executor = _EXECUTOR.match(line)
        return self._of_step(executor[1] if executor else line.removeprefix(INDENT), bool(executor))

    def _message(self, line: str, text: str) -> str | None:
        begins = _EXECUTES.match(text)
        self.inside = text.startswith("Streamed logs:")
        self.block = "message" if text.endswith(" outputs:") else ""
        if begins:
            return f"{STEP_MARK}{begins[1]}"
        return None if _HIDDEN.match(text) else line

    def _of_step(self, text: str, executor: bool) -> str | None:
        if executor and text.startswith("Got executor_input:"):
            self.block = f"{INDENT}}}"
            return None
        hidden = executor and text.startswith(_HIDDEN_EXECUTOR)
        return None if hidden else text.rstrip()
