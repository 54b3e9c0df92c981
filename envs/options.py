"""Options of an environment as a frozen pydantic model, and its faults as plain sentences."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from envs.base import JSON


class Options(BaseModel):
    """Base of an environment's options: frozen, unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


OptionsT = TypeVar("OptionsT", bound=Options)


def parse_options(model: type[OptionsT], env: str, options: Mapping[str, JSON]) -> OptionsT:
    """The checked options.

    Raises ValueError, one line per fault: the environment, the option, what is allowed, and the
    value that was given.
    """
    try:
        return model.model_validate(dict(options))
    except ValidationError as error:
        faults = [_sentence(model, env, fault) for fault in error.errors()]
        raise ValueError("\n".join(faults)) from error


def check_choice(field: str, value: str, allowed: Mapping[str, object]) -> None:
    """ValueError that names the field, the value and the allowed ones."""
    if value not in allowed:
        raise ValueError(f"{field} is {value!r}; expected one of {sorted(allowed)}")


def _sentence(model: type[Options], env: str, fault: Any) -> str:
    where = f"{env} option {'.'.join(str(part) for part in fault['loc']) or 'values'}"
    if fault["type"] == "extra_forbidden":
        known = sorted(model.model_fields)
        return f"{where}: unknown, got {fault['input']!r}; the options are {known}"
    reason = " ".join(fault["msg"].removeprefix("Value error, ").split())
    if isinstance(fault["input"], (str, int, float, bool, list, type(None))):
        reason += f", got {fault['input']!r}"
    return f"{where}: {reason}"
