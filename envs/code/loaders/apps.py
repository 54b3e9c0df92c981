"""APPS (MIT) as the hub has it: tests and solutions are JSON texts inside the record.

`input_output` holds `inputs` and `outputs`, and for functions `fn_name`; then an input is the list
of arguments, and the outputs are, by convention, lists of one value (unwrapped here where all are).
"""

from collections.abc import Mapping
from typing import Any

from envs.base import Split
from envs.code.loaders.drafts import Draft, LeftOut, make_draft, parsed

FILES = {
    Split.TRAIN: "hf://datasets/codeparrot/apps/train.jsonl",
    Split.TEST: "hf://datasets/codeparrot/apps/test.jsonl",
}


def read_apps(record: Mapping[str, Any], split: Split, max_tests: int) -> Draft | LeftOut:
    """One record (also by the names of the original archive: `id`, `problem_id`)."""
    name = record.get("problem_id", record.get("id"))
    source = f"apps/{split.value}/{name}"
    try:
        tests = parsed(record["input_output"] or "{}", "input_output")
        solutions = parsed(record.get("solutions") or "[]", "solutions")
        golden = _pairs(tests)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return LeftOut(source, str(error))
    return make_draft(
        source,
        record["question"],
        golden=golden,
        max_tests=max_tests,
        entry_point=tests.get("fn_name"),
        starter=record.get("starter_code") or "",
        solutions=solutions,
        split=split,
    )


def _pairs(tests: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    inputs, outputs = tests.get("inputs", []), tests.get("outputs", [])
    if tests.get("fn_name") is None:
        return [(_lines(given), _lines(expected)) for given, expected in zip(inputs, outputs)]  # noqa: B905
    if all(isinstance(output, list) and len(output) == 1 for output in outputs):
        outputs = [output[0] for output in outputs]
    return list(zip(inputs, outputs))  # noqa: B905


def _lines(text: Any) -> str:
    """Some records give a list of lines."""
    return "\n".join(map(str, text)) if isinstance(text, list) else str(text)
