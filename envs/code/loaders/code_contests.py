"""CodeContests (CC BY 4.0) as the hub has it: tests as two parallel lists, solutions by language.

Golden tests are the private ones and then the generated ones.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from envs.base import Split
from envs.code.loaders.drafts import Draft, LeftOut, make_draft

DATASET = "deepmind/code_contests"
SPLITS = {Split.TRAIN: "train", Split.VALIDATION: "valid", Split.TEST: "test"}
_PYTHON3 = 3


def read_code_contests(record: Mapping[str, Any], split: Split, max_tests: int) -> Draft | LeftOut:
    """One record; problems that read or write files are left out."""
    source = f"code_contests/{split.value}/{record['name']}"
    if record.get("input_file") or record.get("output_file"):
        return LeftOut(source, "it reads or writes files")
    solutions = record["solutions"]
    return make_draft(
        source,
        record["description"],
        public=_pairs(record["public_tests"]),
        golden=[*_pairs(record["private_tests"]), *_pairs(record["generated_tests"])],
        max_tests=max_tests,
        solutions=[
            text
            for language, text in zip(solutions["language"], solutions["solution"], strict=True)
            if language == _PYTHON3
        ],
        split=split,
    )


def _pairs(tests: Mapping[str, list[str]]) -> Iterator[tuple[str, str]]:
    return zip(tests["input"], tests["output"], strict=True)
