"""What of Plan-Path can be configured."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from envs.options import Options
from envs.sandbox import SandboxOptions

Side = Annotated[int, Field(ge=2, le=26)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]


class DemonstrationOptions(Options):
    """How good the example answers are; poor by default, so that there is something to learn.

    What the named shares of one group leave over is the group's last, worst kind.
    """

    all_walls: Share = 0.15
    """One-line programs that avoid every wall."""
    no_walls: Share = 0.55
    """One-line programs that avoid nothing."""
    some_walls: Share = 0.2
    """One-line programs that avoid a random part of the walls; the rest start from a wrong cell."""
    right_programs: Share = 0.15
    """Python programs that search a shortest path."""
    blind_programs: Share = 0.5
    """Python programs that search one through the walls; the rest print no path."""
    copy_route: Share = 0.4
    """Planner answers that repeat the tool's route, if it has one; of several tools' routes any,
    good or bad."""
    copy_straight: Share = 0.2
    """Planner answers that go straight to the goal; the rest are one step towards it."""
    shortest: Share = 0.12
    """Answers of a role without a tool (and routes proposed by the tool) that are optimal."""
    straight: Share = 0.28
    """The same, straight to the goal; the rest are a first step or a damaged path, half each."""

    @model_validator(mode="after")
    def _shares_fit(self) -> "DemonstrationOptions":
        for group in (
            ("all_walls", "no_walls", "some_walls"),
            ("right_programs", "blind_programs"),
            ("copy_route", "copy_straight"),
            ("shortest", "straight"),
        ):
            total = sum(getattr(self, name) for name in group)
            if total > 1.0 + 1e-9:
                raise ValueError(f"{' + '.join(group)} is {total:g}, expected at most 1")
        return self


class PlanPathOptions(Options):
    """Options of `plan_path`; the defaults are the paper's 10x10 grid."""

    height: Side = 10
    width: Side = 10
    num_walls: Annotated[int, Field(ge=0)] | None = None
    """Exact; None: `wall_fraction` of the cells, rounded."""
    wall_fraction: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.22
    min_distance: Annotated[int, Field(ge=1)] = 1
    """Steps of the shortest path, at least."""
    detour_fraction: Share | None = None
    """Share of instances whose shortest path is longer than the Manhattan distance; None: any."""
    roles: Literal["team", "planner", "tool"] = "team"
    """team: tools, then planner. planner: a single agent without a tool. tool: a single agent whose
    program is carried out; nobody decides after it."""
    num_tools: Annotated[int, Field(ge=1, le=9)] = 1
    """Roles `tool`, `tool_2`, ... of a team, all of one kind. A later one sees what came of the
    proposals before its own, and the planner sees all of them."""
    action_language: Literal["moves", "cells"] = "moves"
    """moves: U D L R. cells: the names of the cells to walk through."""
    tool: Literal["moves", "search", "program"] = "moves"
    """moves: the tool proposes actions. search: it writes a one-line program for an interpreter of
    our own. program: a Python program, which runs in the sandbox and prints actions."""
    program_input: Literal["none", "grid"] = "none"
    """What a Python program reads. none: it must hold the grid itself. grid: the rows of the grid,
    then the position and the goal."""
    sandbox: SandboxOptions = SandboxOptions()
    """Limits of a Python program."""
    prompt_style: Literal["paper", "compact"] = "paper"
    """paper: for an instruct model. compact: a closed set of words, for tiny models."""
    worked_example: bool = False
    """Paper style: a small grid with its answer comes first, as an earlier exchange, and the answer
    alone is asked for. For instruct models that are too small to follow the format otherwise."""
    max_words: Annotated[int, Field(ge=1)] | None = None
    """Compact answers longer than this are malformed; None: half of the cells plus one, and enough
    to name all walls. A model that may write one token more than this gains nothing by never
    ending its answer."""
    demonstrations: DemonstrationOptions = DemonstrationOptions()

    @model_validator(mode="after")
    def _tools_have_a_team(self) -> "PlanPathOptions":
        if self.num_tools > 1 and self.roles != "team":
            raise ValueError(
                f"num_tools {self.num_tools} needs roles team, got {self.roles}: a single agent "
                "has no tools beside it; leave num_tools out"
            )
        if self.roles == "tool" and self.tool == "moves":
            raise ValueError(
                "roles tool needs tool search or program, got moves: who writes moves alone is "
                "roles planner"
            )
        return self

    @model_validator(mode="after")
    def _example_has_a_style(self) -> "PlanPathOptions":
        if self.worked_example and self.prompt_style == "compact":
            raise ValueError("worked_example needs prompt_style paper, got compact")
        return self

    @model_validator(mode="after")
    def _programs_have_a_style(self) -> "PlanPathOptions":
        if self.tool == "program" and self.prompt_style == "compact":
            raise ValueError(
                "tool program needs prompt_style paper (a program is no closed set of words), "
                "got compact; expected paper, or tool moves or search"
            )
        return self

    @model_validator(mode="after")
    def _instances_exist(self) -> "PlanPathOptions":
        free = self.height * self.width - self.walls
        if free < 2:
            raise ValueError(f"num_walls {self.walls} leaves {free} free cells, expected 2 or more")
        if self.min_distance >= free:
            raise ValueError(
                f"min_distance {self.min_distance} needs more than {free} free cells, "
                "expected a smaller distance or a larger grid"
            )
        return self

    @property
    def walls(self) -> int:
        """Number of walls of every instance."""
        if self.num_walls is not None:
            return self.num_walls
        return round(self.wall_fraction * self.height * self.width)

    @property
    def word_limit(self) -> int:
        """Longest well-formed compact answer, in words."""
        return self.max_words or max(self.height * self.width // 2 + 1, self.walls + 4)
