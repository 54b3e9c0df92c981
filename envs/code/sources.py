"""Where the records of each data set come from: the hub, files in its formats, or a package.

Hugging Face `datasets` is imported only here and only when asked for; records are streamed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from envs.base import Split
from envs.code.loaders import apps, code_contests, codeio, human_eval, live_code_bench
from envs.code.loaders.drafts import Draft, LeftOut
from envs.sandbox import Sandbox
from envs.splits import split_of

LICENCES = {
    "apps": "MIT",
    "codecontests": "CC BY 4.0",
    "livecodebench": "Creative Commons, as its page on the hub says",
    "human-eval": "MIT",
    "codeio": "Apache-2.0 (as part of reasoning-gym)",
}
"""name of the set -> licence of its data."""
Record = Mapping[str, Any]
Reader = Callable[[Record, Split, int], Draft | LeftOut]
_READERS: Mapping[str, Reader] = {
    "apps": apps.read_apps,
    "codecontests": code_contests.read_code_contests,
    "livecodebench": live_code_bench.read_live_code_bench,
}


def drafts(
    name: str,
    files: Sequence[str],
    sandbox: Sandbox,
    max_tests: int,
    difficulty: str | None = None,
) -> Iterator[Draft | LeftOut]:
    """All drafts of the set. ValueError if its records cannot be had."""
    if name in _READERS:
        return _from_hub(name, files, max_tests, difficulty)
    if files or difficulty:
        raise ValueError(f"{name} comes from an installed package: --from and --difficulty do not "
                         "apply")  # fmt: skip
    if name == "codeio":
        return codeio.read_codeio(codeio.records(), sandbox, max_tests)
    return iter([human_eval.read_human_eval(record) for record in human_eval.records()])


def _from_hub(
    name: str, files: Sequence[str], max_tests: int, difficulty: str | None
) -> Iterator[Draft | LeftOut]:
    """A set without a validation split gives the tenth of its train records that the digest of
    the question names to validation."""
    places = [_split_file(name, text) for text in files] or _places(name)
    halves = not any(split is Split.VALIDATION for split, _ in places)
    for split, file in places:
        for record in _stream(name, split, file):
            if difficulty and record.get("difficulty") != difficulty:
                continue
            draft = _READERS[name](record, split, max_tests)
            yield _held_out(draft) if halves and split is Split.TRAIN else draft


def _held_out(draft: Draft | LeftOut) -> Draft | LeftOut:
    if isinstance(draft, Draft) and split_of(draft.problem.content()) is Split.VALIDATION:
        update = {"split": Split.VALIDATION}
        return Draft(draft.problem.model_copy(update=update), draft.solutions)
    return draft


def _places(name: str) -> list[tuple[Split, str | None]]:
    if name == "apps":
        return list(apps.FILES.items())
    if name == "livecodebench":
        return [(Split.TEST, file) for file in live_code_bench.FILES]
    return [(split, None) for split in code_contests.SPLITS]


def _split_file(name: str, text: str) -> tuple[Split, str | None]:
    split, equals, file = text.partition("=")
    if not equals or split not in list(Split):
        raise ValueError(f"--from {text!r}: expected train=FILE, validation=FILE or test=FILE")
    return Split(split), file


def _stream(name: str, split: Split, file: str | None) -> Iterator[Record]:
    """Records one by one; whatever the library or the hub raises becomes one line."""
    try:
        from datasets import load_dataset  # type: ignore[import-untyped]

        if file is None:
            label = code_contests.SPLITS[split]
            yield from load_dataset(code_contests.DATASET, split=label, streaming=True)
            return
        kind = "parquet" if file.endswith(".parquet") else "json"
        yield from load_dataset(kind, data_files=file, split="train", streaming=True)
    except ImportError as error:
        raise ValueError(f"{name}: needs the package datasets; pip install datasets") from error
    except Exception as error:  # the hub's and the library's failures have no common class
        reason = " ".join(str(error).split())[:300]
        raise ValueError(f"{name}, {file or split.value}: cannot be read ({reason})") from error
