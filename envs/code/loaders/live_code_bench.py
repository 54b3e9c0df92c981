"""LiveCodeBench as the hub has it: private tests are JSON, or JSON in a pickle in zlib in base64.

The pickle holds one text; the reader below can make nothing else, so it runs no code. Records have
no solution. Each line of a function's input is one argument as JSON.
"""

import base64
import binascii
import io
import pickle
import zlib
from collections.abc import Mapping
from typing import Any

from envs.base import Split
from envs.code.loaders.drafts import Draft, LeftOut, make_draft, parsed

FILES = tuple(
    f"hf://datasets/livecodebench/code_generation_lite/test{number}.jsonl"
    for number in ("", 2, 3, 4, 5, 6)
)
"""Releases v1 .. v6; a release's problems are those of its file."""
MAX_BYTES = 256 * 2**20
"""Of private tests after decompression."""


def read_live_code_bench(
    record: Mapping[str, Any], split: Split, max_tests: int
) -> Draft | LeftOut:
    """One record; every one is for evaluation, whatever `split` says to the others' readers."""
    source = f"live_code_bench/{record['question_id']}"
    try:
        public = parsed(record["public_test_cases"], "public_test_cases")
        golden = private_tests(record["private_test_cases"])
        metadata = parsed(record.get("metadata") or "{}", "metadata")
        entry = metadata.get("func_name")
        pairs = [[_pair(test, entry) for test in tests] for tests in (public, golden)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return LeftOut(source, " ".join(str(error).split()))
    return make_draft(
        source,
        record["question_content"],
        public=pairs[0],
        golden=pairs[1],
        max_tests=max_tests,
        entry_point=entry,
        starter=record.get("starter_code") or "",
        split=split,
    )


def private_tests(text: str) -> Any:
    """The list of tests. ValueError for what is neither JSON nor a packed text."""
    if text.lstrip().startswith("["):
        return parsed(text, "private_test_cases")
    try:
        packed = base64.b64decode(text, validate=True)
        reader = zlib.decompressobj()
        plain = reader.decompress(packed, MAX_BYTES)
        if reader.unconsumed_tail or not reader.eof:
            raise ValueError(f"private_test_cases are cut, or more than {MAX_BYTES} bytes")
        found = _TextOnly(io.BytesIO(plain)).load()
    except (binascii.Error, zlib.error, pickle.UnpicklingError, EOFError, IndexError) as error:
        raise ValueError(f"private_test_cases cannot be unpacked ({error})") from error
    if not isinstance(found, (str, bytes)):
        raise ValueError(f"private_test_cases hold {type(found).__name__}, expected a text")
    return parsed(found if isinstance(found, str) else found.decode(), "private_test_cases")


class _TextOnly(pickle.Unpickler):
    """A pickle of texts and numbers: every class, function and persistent object is refused."""

    def find_class(self, module: str, name: str) -> Any:
        """Never."""
        raise pickle.UnpicklingError(f"it names {module}.{name}, expected a text alone")

    def persistent_load(self, pid: Any) -> Any:
        """Never."""
        raise pickle.UnpicklingError("it names a persistent object, expected a text alone")


def _pair(test: Mapping[str, str], entry: str | None) -> tuple[Any, Any]:
    if (test["testtype"] == "functional") is (entry is None):
        raise ValueError(f"a test is {test['testtype']!r}, the function's name is {entry!r}")
    if entry is None:
        return test["input"], test["output"]
    arguments = [parsed(line, "an argument") for line in test["input"].splitlines() if line]
    return arguments, parsed(test["output"], "an output")
