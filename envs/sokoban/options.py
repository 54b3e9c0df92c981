"""What of Sokoban can be configured."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from envs.base import Split
from envs.options import Options
from envs.sandbox import SandboxOptions
from envs.sokoban.levels import MAX_SIDE
from envs.sokoban.room import Room
from envs.sokoban.symmetry import Distinct
from envs.sokoban.walk import Language

Side = Annotated[int, Field(ge=4, le=MAX_SIDE)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Count = Annotated[int, Field(ge=1)]


class DemonstrationOptions(Options):
    """How good the example answers are; poor by default, so that there is something to learn.

    What the named shares of one group leave over is the group's last, worst kind.
    """

    all_walls: Share = 0.15
    """Tool programs that push each box to a goal and avoid every wall."""
    no_walls: Share = 0.4
    """The same, but they avoid nothing."""
    some_walls: Share = 0.2
    """The same, but they avoid a random part of the walls; the rest push to a wrong cell."""
    copy_route: Share = 0.3
    """Planner answers that repeat what the tool's text led to, if it led anywhere."""
    copy_start: Share = 0.1
    """Planner answers that repeat the first half of it; the rest are as of a role without tool."""
    shortest: Share = 0.06
    """Answers of a role without a tool (and routes proposed by the tool) that are optimal; of
    programs as well those that search."""
    start: Share = 0.14
    """The first half of such an answer; the rest have one word of that half damaged."""

    @model_validator(mode="after")
    def _shares_fit(self) -> "DemonstrationOptions":
        for group in (
            ("all_walls", "no_walls", "some_walls"),
            ("copy_route", "copy_start"),
            ("shortest", "start"),
        ):
            total = sum(getattr(self, name) for name in group)
            if total > 1.0 + 1e-9:
                raise ValueError(f"{' + '.join(group)} is {total:g}, expected at most 1")
        return self


class SokobanOptions(Options):
    """Options of `sokoban`; the defaults are the paper's 6x6 rooms with one box."""

    height: Side = 6
    """Of generated rooms, with the walls around them."""
    width: Side = 6
    num_boxes: Count = 1
    num_walls: Annotated[int, Field(ge=0)] | None = None
    """Exact number of walls inside; None: `wall_fraction` of the cells inside, rounded."""
    wall_fraction: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.15
    min_pushes: Count = 2
    """Pushes of a solution with the fewest, at least."""
    max_pushes: Count | None = None
    """The same, at most; None: half of the room's height + width, for each box."""
    min_moves: Count = 1
    """Moves of a shortest solution, at least."""
    levels: str | None = None
    """A file of levels, or a folder of such files; None: levels are generated."""
    level_splits: dict[Split, str] | None = None
    """Split -> file or folder under `levels`; None: a level's digest decides."""
    verify: Literal["solve", "rules"] = "solve"
    """solve: every level of a file is tried by the solver. rules: only the format is checked, and
    that every box could get to a goal if it were alone and is not held for ever."""
    solver_limit: Annotated[int, Field(ge=100)] = 2_000
    """Positions that the solver looks at; fewer where there are more than about ten boxes."""
    undecided: Literal["refuse", "accept"] = "refuse"
    """What is done with a level of a file that the solver has neither solved nor refuted by then;
    a generated one is never taken."""
    distinct: Distinct = "mirrored"
    """What splits may not share. mirrored: levels that are one up to turning, mirroring and what
    the player cannot get to; identity: equal rows."""
    roles: Literal["team", "planner", "tool"] = "team"
    """team: tool, then planner. planner: a single agent without a tool. tool: a single agent whose
    program is carried out; nobody decides after it."""
    action_language: Language = "moves"
    """moves: U D L R. cells: the cells that the player steps on. pushes: the ways of the boxes."""
    tool: Literal["moves", "program", "search"] = "moves"
    """moves: the tool proposes actions. program: Python, run in the sandbox, prints actions.
    search: a one-line program for the search of program.py."""
    prompt_style: Literal["paper", "compact"] = "paper"
    """paper: for an instruct model. compact: a closed set of words, for tiny models."""
    max_words: Count | None = None
    """Compact answers longer than this are malformed; None: half of the cells plus one, and enough
    to name all walls. A model that may write one token more than this gains nothing by never
    ending its answer."""
    demonstrations: DemonstrationOptions = DemonstrationOptions()
    sandbox: SandboxOptions = SandboxOptions()
    """Limits of the programs that `tool: program` runs."""

    @model_validator(mode="after")
    def _options_fit_together(self) -> "SokobanOptions":
        if self.prompt_style == "compact" and self.tool == "program" and self.roles != "planner":
            raise ValueError("tool program needs prompt_style paper, got compact")
        if self.roles == "tool" and self.tool == "moves":
            raise ValueError(
                "roles tool needs tool search or program, got moves: who writes moves alone is "
                "roles planner"
            )
        if self.levels is None and self.level_splits is not None:
            raise ValueError("level_splits needs levels, a folder")
        given = sorted(_GENERATOR & self.model_fields_set)
        if self.levels is not None and given:
            raise ValueError(f"levels come from {self.levels!r}; expected no {', '.join(given)}")
        if self.level_splits is not None and set(self.level_splits) != set(Split):
            missing = sorted(set(Split) - set(self.level_splits))
            raise ValueError(f"level_splits lacks {', '.join(missing)}; expected all splits")
        return self

    @model_validator(mode="after")
    def _rooms_exist(self) -> "SokobanOptions":
        free = (self.height - 2) * (self.width - 2) - self.walls
        if free < 2 * self.num_boxes + 1:
            raise ValueError(
                f"num_walls {self.walls} leaves {free} free cells, expected "
                f"{2 * self.num_boxes + 1} or more for num_boxes {self.num_boxes}"
            )
        longest, shortest = max(self.height, self.width) - 2, min(self.height, self.width) - 2
        if longest < 3:
            raise ValueError(
                f"a room of {self.height}x{self.width} has no 3 cells in a line, for player, box "
                "and goal; expected height or width 5 or more"
            )
        if shortest == 2 and self.num_boxes == 1 and self.min_pushes > longest - 2:
            raise ValueError(
                f"min_pushes {self.min_pushes}: in a room of {self.height}x{self.width} no box is "
                f"pushed more than {longest - 2} times; expected at most that, or a larger room"
            )
        if self.min_pushes > self.most_pushes:
            raise ValueError(
                f"min_pushes {self.min_pushes} is more than max_pushes {self.most_pushes}"
            )
        return self

    @property
    def walls(self) -> int:
        """Number of walls inside every generated room."""
        if self.num_walls is not None:
            return self.num_walls
        return round(self.wall_fraction * (self.height - 2) * (self.width - 2))

    @property
    def most_pushes(self) -> int:
        """Pushes of a generated level, at most."""
        return self.max_pushes or max(
            self.min_pushes, (self.height + self.width) // 2 * self.num_boxes
        )


def word_limit(options: SokobanOptions, room: Room) -> int | None:
    """Longest well-formed answer in this room, in words; None in paper style."""
    if options.prompt_style == "paper":
        return None
    walls = (room.walls & ~room.board.ring).bit_count()
    program = 3 * room.goals.bit_count() + 1 + walls
    return options.max_words or max(room.height * room.width // 2 + 1, program)


_GENERATOR = {"height", "width", "num_boxes", "num_walls", "wall_fraction", "min_pushes",
              "max_pushes", "min_moves"}  # fmt: skip
