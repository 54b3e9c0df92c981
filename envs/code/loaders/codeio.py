"""CodeI/O programs from the installed package `reasoning-gym`: tests without end from a reference.

Each record has a program and a generator of its inputs. Both run in the sandbox: the inputs and
the program's own outputs become the tests. Programs that use chance, time or the system are left
out, since nobody could write one that gives the same.
"""

import gzip
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

from envs.code.execution import MARK, answer, input_run
from envs.code.loaders.drafts import Draft, LeftOut, make_draft
from envs.code.problem import shown_call, shown_value
from envs.sandbox import Outcome, Result, Run, Sandbox

ENTRY = "main_solution"
NUM_PUBLIC = 2
_CHUNK = 64
_MODULES = "random|time|datetime|uuid|secrets|threading|os|sys"
_UNSTABLE = re.compile(rf"\b(?:{_MODULES})\s*\.|\bfrom\s+(?:{_MODULES})\b|\bnp\.random\b")
"""A use of one of these modules, not its mere import."""
_GENERATE = """\
import json
from random import Random
{program}

{generator}

rng = Random({seed})
print({mark!r} + json.dumps([generate_inputs(rng) for _ in range({count})]))
"""


def records() -> Iterator[dict[str, Any]]:
    """As the package has them. ValueError if it is not installed."""
    spec = find_spec("reasoning_gym")
    if spec is None or not spec.submodule_search_locations:
        raise ValueError("codeio: not installed; pip install reasoning-gym==0.1.25")
    path = Path(spec.submodule_search_locations[0]) / "data" / "codeio.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for number, line in enumerate(line for line in file if line.strip()):
            yield {"number": number, **json.loads(line)}


def read_codeio(
    found: Iterable[Mapping[str, Any]], sandbox: Sandbox, max_tests: int
) -> Iterator[Draft | LeftOut]:
    """The drafts, in order; their programs have been run."""
    stream = iter(found)
    while chunk := list(islice(stream, _CHUNK)):
        stable = [not _UNSTABLE.search(record["code_sample"]) for record in chunk]
        inputs = _inputs(chunk, sandbox, max_tests)
        outputs = _outputs(chunk, inputs, sandbox)
        for record, given, expected, usable in zip(chunk, inputs, outputs, stable, strict=True):
            source = f"codeio/{record['number']}"
            if not usable:
                yield LeftOut(source, "it uses chance, time or the system")
            elif not any(expected):
                yield LeftOut(source, "its generator or its program does not end well")
            else:
                yield _draft(source, record, given, expected)


def _inputs(chunk: list[Mapping[str, Any]], sandbox: Sandbox, count: int) -> list[list[Any]]:
    runs = [
        Run(
            _GENERATE.format(
                program=record["code_sample"],
                generator=record["input_generator"],
                seed=record["number"],
                count=count + NUM_PUBLIC,
                mark=MARK,
            )
        )
        for record in chunk
    ]
    return [_generated(result) for result in sandbox.run_many(runs)]


def _generated(result: Result) -> list[Any]:
    _, mark, text = result.stdout.rpartition(MARK)
    if result.outcome is not Outcome.OK or not mark:
        return []
    try:
        return [given for given in json.loads(text) if isinstance(given, dict)]
    except (ValueError, RecursionError):
        return []


def _outputs(
    chunk: list[Mapping[str, Any]], inputs: list[list[Any]], sandbox: Sandbox
) -> list[list[str | None]]:
    runs = [
        input_run(ENTRY, record["code_sample"], json.dumps(given))
        for record, all_given in zip(chunk, inputs, strict=True)
        for given in all_given
    ]
    results = iter(sandbox.run_many(runs))
    return [[answer(ENTRY, next(results)) for _ in all_given] for all_given in inputs]


def _draft(
    source: str, record: Mapping[str, Any], given: list[Any], expected: list[str | None]
) -> Draft | LeftOut:
    pairs = [(one, json.loads(other)) for one, other in zip(given, expected, strict=True) if other]
    question = (
        f"{record['task_description'].strip()}\n\nWrite the function `{ENTRY}`.\n"
        f"{record['input_output_spec'].strip()}"
    )
    made = make_draft(
        source,
        question,
        public=pairs[:NUM_PUBLIC],
        golden=pairs[NUM_PUBLIC:],
        max_tests=len(pairs),
        entry_point=ENTRY,
        solutions=[record["code_sample"]],
    )
    if isinstance(made, LeftOut):
        return made
    example = made.problem.public_tests[0]
    shown = (
        f"{question}\n\nExample: `{shown_call(made.problem, example.input)}` returns "
        f"`{shown_value(made.problem, example.output)}`"
    )
    return Draft(made.problem.model_copy(update={"question": shown}), made.solutions)
