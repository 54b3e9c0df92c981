"""What `python -m envs list` says: every environment in a line, and the options of one."""

import ast
import inspect
import json
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel

from envs.base import Environment
from envs.registry import available, make_environment

HEADER = ("name", "roles", "order", "what")


def table() -> list[str]:
    """Aligned lines: name, roles in their order, serial or parallel, one sentence."""
    rows = [HEADER, *(_row(name) for name in available())]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return [
        "  ".join([*(f"{row[i]:{widths[i]}}" for i in range(3)), row[3]]).rstrip() for row in rows
    ]


def description(env: Environment) -> str:
    """The first line of its class's docstring, or of its base's."""
    return (inspect.getdoc(type(env)) or "-").partition("\n")[0]


def options_of(env: Environment) -> list[str]:
    """`name: default` of every option with its documentation; empty if the environment keeps no
    pydantic model in `options`."""
    model = getattr(env, "options", None)
    return list(_options(type(model))) if isinstance(model, BaseModel) else []


def presets_of(env: Environment) -> list[str]:
    """Reward presets with the parts of every role and their bounds."""
    lines = []
    for name, preset in env.reward_presets.items():
        lines.append(f"{name}: team {_interval(preset.team)}")
        for role, parts in preset.local.items():
            told = ", ".join(f"{part} {_interval(bounds)}" for part, bounds in parts.items())
            lines.append(f"  {role}: {told or 'no parts of its own'}")
    return lines


def _row(name: str) -> tuple[str, str, str, str]:
    """An environment that cannot be built with default options says why instead."""
    try:
        env = make_environment(name, {}, "dense")
    except ValueError as error:
        return name, "-", "-", f"not with default options: {str(error).splitlines()[0]}"
    return name, ", ".join(env.roles), env.order.value, description(env)


def _options(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    notes = dict(_field_notes(model))
    for name, field in model.model_fields.items():
        default = None if field.is_required() else field.get_default(call_default_factory=True)
        if isinstance(default, BaseModel):
            yield from _options(type(default), f"{prefix}{name}.")
            continue
        shown = "required" if field.is_required() else json.dumps(default, default=str)
        yield f"{prefix}{name}: {shown}"
        note = " ".join([_choices(field.annotation), notes.get(name, "")]).strip()
        yield from textwrap.wrap(note, 92, initial_indent="    ", subsequent_indent="    ")


def _choices(annotation: Any) -> str:
    """Of a Literal: its values."""
    values: Sequence[Any] = getattr(annotation, "__args__", ())
    plain = values and all(isinstance(value, str) for value in values)
    return f"{' | '.join(values)}." if plain else ""


def _field_notes(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """The string below each field, which Python itself forgets."""
    for base in reversed(model.__mro__):
        if not issubclass(base, BaseModel) or base is BaseModel:
            continue
        try:
            body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
        except (OSError, TypeError):
            continue
        statements = body.body if isinstance(body, ast.ClassDef) else []
        for field, note in zip(statements, statements[1:], strict=False):
            match field, note:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(ast.Constant(str(text))):
                    yield name, " ".join(text.split())


def _interval(bounds: Any) -> str:
    return f"[{bounds.low:g}, {bounds.high:g}]"
