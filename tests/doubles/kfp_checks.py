"""What the real API server checks of a posted pipeline and its parameters, in its own words."""

import json
import re
from collections.abc import Mapping
from typing import Any

from google.protobuf import json_format
from kfp.pipeline_spec import pipeline_spec_pb2

MAX_PARAMETER_BYTES = 10_000
TYPES: dict[str, tuple[type, ...]] = {
    "NUMBER_DOUBLE": (int, float), "NUMBER_INTEGER": (int, float), "STRING": (str,),
    "BOOLEAN": (bool,), "LIST": (list,), "STRUCT": (dict,),
}  # fmt: skip
WORDS = {
    "NUMBER_DOUBLE": "requires type double or integer, but the parameter value is not of number "
    "value type",
    "STRING": "requires type string, but the input parameter is not of string value type",
    "BOOLEAN": "requires type bool, but the input parameter is not of bool value type",
    "LIST": "requires type list, but the input parameter is not of list value type",
    "STRUCT": "requires type struct, but the input parameter is not of struct value type",
}
WORDS["NUMBER_INTEGER"] = WORDS["NUMBER_DOUBLE"]


class Refused(Exception):
    """A call that is answered by an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def checked_spec(posted: Mapping[str, Any], runtime: Mapping[str, Any] | None) -> dict[str, Any]:
    """The PipelineSpec in what was posted; with `runtime`, its parameters are checked too."""
    spec = dict(posted.get("pipeline_spec", posted))
    try:
        json_format.ParseDict(spec, pipeline_spec_pb2.PipelineSpec())
        platform = pipeline_spec_pb2.PlatformSpec()
        json_format.ParseDict(posted.get("platform_spec", {}), platform)
    except json_format.ParseError as error:
        raise Refused(400, f"invalid v2 pipeline spec: {error}") from error
    if spec.get("schemaVersion") != "2.1.0":
        raise Refused(
            400, f"KFP only supports schema version 2.1.0, got {spec.get('schemaVersion')}"
        )
    if not re.fullmatch(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", spec["pipelineInfo"]["name"]):
        raise Refused(400, "invalid v2 pipeline spec: name should consist of lower case ...")
    if runtime is not None:
        check_parameters(spec, dict(runtime.get("parameters") or {}))
    return spec


def check_parameters(spec: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """As `validatePipelineJobInputs` of the API server; Refused is its 400."""
    known = spec["root"].get("inputDefinitions", {}).get("parameters", {})
    for name, parameter in known.items():
        kind = parameter["parameterType"]
        if name not in values:
            if not parameter.get("isOptional") and "defaultValue" not in parameter:
                raise _invalid(
                    f"parameter {name} is not optional, yet has neither default value nor user "
                    "provided value"
                )
        elif not _is(values[name], kind):
            raise _invalid(f"input parameter {name} {WORDS[kind]}")
    extra = sorted(set(values) - set(known))
    if extra:
        raise _invalid(f"parameter(s) provided are not required by pipeline: {', '.join(extra)}")
    if len(json.dumps(values)) > MAX_PARAMETER_BYTES:
        raise _invalid(f"the input parameter length exceed maximum size of {MAX_PARAMETER_BYTES}")


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "BOOLEAN"
    return isinstance(value, TYPES[kind])


def _invalid(text: str) -> Refused:
    return Refused(400, f"Failed to create a run: invalid pipeline job inputs: {text}")
