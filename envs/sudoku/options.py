"""What of Sudoku can be configured."""

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from envs.base import JSON, Split
from envs.options import Options
from envs.sandbox import SandboxOptions

Share = Annotated[float, Field(ge=0.0, le=1.0)]
LIMITS = {4: (4, 15), 6: (8, 35), 9: (17, 80)}
"""size -> fewest clues that any puzzle with one solution has, and most that leave a blank."""
DEFAULT_CLUES = {4: (6, 8), 6: (14, 18), 9: (30, 40)}


class DemonstrationOptions(Options):
    """How good the example answers are; poor by default, so that there is something to learn.

    What the named shares of one group leave over is the group's last, worst kind.
    """

    all_clues: Share = 0.15
    """Tool programs that know every clue (`tool: program`: that search for the solution)."""
    few_clues: Share = 0.55
    """Tool programs that know the first clues only, at most 3 (program: that fill greedily)."""
    some_clues: Share = 0.2
    """Tool programs that know a random part of the clues (program: that fill what is forced); the
    rest get one clue wrong (program: fail)."""
    copy_fills: Share = 0.4
    """Planner answers that repeat the tool's fills, if it has any."""
    copy_part: Share = 0.2
    """Planner answers that repeat the first of them; the rest are one legal fill."""
    solution: Share = 0.12
    """Answers of a role without a tool (and fills proposed by the tool) that solve the puzzle."""
    legal: Share = 0.28
    """The same, legal fills without foresight; the rest are one right fill, or the solution with a
    wrong digit, half each."""

    @model_validator(mode="after")
    def _shares_fit(self) -> "DemonstrationOptions":
        for group in (
            ("all_clues", "few_clues", "some_clues"),
            ("copy_fills", "copy_part"),
            ("solution", "legal"),
        ):
            total = sum(getattr(self, name) for name in group)
            if total > 1.0 + 1e-9:
                raise ValueError(f"{' + '.join(group)} is {total:g}, expected at most 1")
        return self


class SudokuOptions(Options):
    """Options of `sudoku`; the defaults are the paper's 4x4 grid."""

    size: Literal[4, 6, 9] = 4
    """Of the grid: 4 with boxes of 2x2, 6 with boxes of 2x3, 9 with boxes of 3x3."""
    num_clues: int | tuple[int, int] | None = None
    """Exact, or the fewest and the most, which a stream spreads evenly; None: by size."""
    puzzles: str | dict[Split, str] | None = None
    """A file of puzzles, divided into splits by digest, or one file per split; None: generated."""
    distinct: Literal["relabelled", "identity"] = "relabelled"
    """What splits may not share. relabelled: puzzles that are one up to renaming digits,
    transposing and exchanging lines; identity: equal puzzles."""
    roles: Literal["team", "planner"] = "team"
    """team: tool, then planner. planner: a single agent without a tool."""
    tool: Literal["moves", "program", "search"] = "moves"
    """moves: the tool proposes fills. program: it writes Python, which is run in the sandbox.
    search: it writes one line for a small solver of our own."""
    answer: Literal["fills", "grid"] = "fills"
    """fills: a list of r<row>c<column>=<digit>. grid: the whole grid."""
    prompt_style: Literal["paper", "compact"] = "paper"
    """paper: for an instruct model. compact: a closed set of words, for tiny models."""
    max_words: Annotated[int, Field(ge=1)] | None = None
    """Compact answers longer than this are malformed; None: enough for every blank and for a
    program that lists every clue. A model that may write one token more than this gains nothing by
    never ending its answer."""
    demonstrations: DemonstrationOptions = DemonstrationOptions()
    sandbox: SandboxOptions = SandboxOptions()
    """Limits of the tool's Python programs."""

    @field_validator("num_clues", mode="before")
    @classmethod
    def _is_number_or_range(cls, value: JSON) -> JSON:
        numbers = value if isinstance(value, (list, tuple)) and len(value) == 2 else [value]
        if value is not None and any(type(number) is not int for number in numbers):
            raise ValueError("expected a number, or [fewest, most]")
        return value

    @field_validator("puzzles", mode="before")
    @classmethod
    def _names_files(cls, value: JSON) -> JSON:
        named = value if isinstance(value, dict) else {Split.TRAIN: value}
        known, files = set(named) <= set(Split), all(isinstance(v, str) for v in named.values())
        if value is not None and not (named and known and files):
            got = f", got {value!r:.200}" if isinstance(value, dict) else ""
            raise ValueError(
                "expected a file, or a file for each split, as in {train: FILE, validation: FILE, "
                f"test: FILE}}{got}"
            )
        return value

    @model_validator(mode="after")
    def _clues_fit(self) -> "SudokuOptions":
        if self.puzzles is not None and self.num_clues is not None:
            raise ValueError("num_clues is for generated puzzles; the file says which clues it has")
        (low, high), (fewest, most) = self.clue_range, LIMITS[self.size]
        if not fewest <= low <= high <= most:
            raise ValueError(
                f"num_clues {self.num_clues} with size {self.size}: expected a number, or "
                f"[fewest, most], from {fewest} to {most}"
            )
        return self

    @model_validator(mode="after")
    def _style_fits(self) -> "SudokuOptions":
        if self.prompt_style == "compact" and self.answer == "grid":
            raise ValueError("answer grid needs prompt_style paper, got compact")
        if self.prompt_style == "compact" and self.tool == "program":
            raise ValueError("tool program needs prompt_style paper, got compact")
        return self

    @property
    def clue_range(self) -> tuple[int, int]:
        """Fewest and most clues of a generated puzzle."""
        if self.num_clues is None:
            return DEFAULT_CLUES[self.size]
        if isinstance(self.num_clues, int):
            return self.num_clues, self.num_clues
        return self.num_clues

    @property
    def word_limit(self) -> int:
        """Longest well-formed compact answer, in words."""
        if self.max_words is not None:
            return self.max_words
        if self.puzzles is not None:
            return self.size**2
        fewest, most = self.clue_range
        return max(self.size**2 - fewest, most + 1)
