"""What of Maths can be configured."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from envs.options import Options
from envs.sandbox import SandboxOptions

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Count = Annotated[int, Field(ge=0, le=16)]


class DemonstrationOptions(Options):
    """How good the example answers are; poor by default, so that there is something to learn."""

    right: Share = 0.25
    wrong: Share = 0.5
    """Well-formed but not the answer; the rest are malformed."""

    @model_validator(mode="after")
    def _shares_fit(self) -> "DemonstrationOptions":
        if self.right + self.wrong > 1.0 + 1e-9:
            raise ValueError(f"right + wrong is {self.right + self.wrong:g}, expected at most 1")
        return self


class GeneratedOptions(Options):
    """Size of the problems that are made here."""

    largest: Annotated[int, Field(ge=3, le=10**6)] = 99
    """Of the numbers in a question."""
    terms: Annotated[int, Field(ge=2, le=8)] = 3
    """Numbers in a sum or product."""


class MathsOptions(Options):
    """Options of `maths`; the defaults are the paper's team on problems that are made here."""

    problems: str = "generated:arithmetic"
    """`generated:KIND`, `package:PACKAGE[/SET]`, or a file made by `envs.maths.prepare`."""
    sha256: str | None = None
    """Of the file; another content is refused."""
    generated: GeneratedOptions = GeneratedOptions()
    reasoners: Count = 1
    tools: Count = 1
    judge: bool = False
    """One more role that acts last, reads the others' answers of the same turn, and decides."""
    order: Literal["parallel", "serial"] = "parallel"
    """parallel: reasoners and tools see the turns before this one only. serial: also what came
    before them in this turn."""
    agreement: Literal["all", "majority"] = "all"
    """Of a team without judge: whose answers must be equal for the episode to end. majority: more
    than half of all roles."""
    settle: Literal["answer", "repeat"] = "answer"
    """Of a single agent: its first answer ends the episode, or only one that it gives in two turns
    running."""
    prompt_style: Literal["paper"] = "paper"
    quoted: Annotated[int, Field(ge=0, le=8_000)] = 800
    """Characters of each other role's text (its end) that a later prompt repeats."""
    demonstrations: DemonstrationOptions = DemonstrationOptions()
    sandbox: SandboxOptions = SandboxOptions()
    """Limits of a tool's program."""

    @model_validator(mode="after")
    def _somebody_answers(self) -> "MathsOptions":
        others = self.reasoners + self.tools
        if others == 0 or (self.judge and others < 2):
            wanted = "2 or more beside a judge" if self.judge else "1 or more"
            raise ValueError(f"reasoners + tools is {others}, expected {wanted}")
        if self.settle == "repeat" and others + self.judge > 1:
            raise ValueError("settle repeat is for a single agent; a team ends when it agrees")
        if self.agreement == "majority" and (self.judge or others < 3):
            raise ValueError("agreement majority needs 3 or more roles and no judge")
        return self
