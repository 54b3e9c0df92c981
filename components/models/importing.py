"""Brings a model into storage: fetch, convert to safetensors, check, upload under its digest.

What is stored is weights, configuration, tokenizer, chat template and licence: no pickles, no code.
"""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path

from components.errors import PolicyError
from components.models import records
from components.models.records import ModelRecord
from components.models.sources import Fetched, Say, fetch_model
from components.settings import StorageConfig
from components.storage import Store, open_store
from components.storage.disk import writing
from components.update.initialise import hub
from components.update.initialise.bases import check_base

_INDEX = "model.safetensors.index.json"
_OTHERS = ("model.safetensors", "consolidated*.safetensors")
"""Weights that an index does not name: the same once more, in another layout."""


def import_model(
    source: str,
    storage: StorageConfig,
    *,
    name: str | None = None,
    file: str | None = None,
    token_variable: str = hub.DEFAULT_TOKEN,
    say: Say = print,
) -> ModelRecord:
    """Import a model and return what is known of it; a model that is there moves no bytes.

    Args:
        name: what `--list` shows; None: the last part of the source.
        file, token_variable: see `sources.fetch_model` and `hub.fetch`.

    Raises PolicyError or StorageError in one line; nothing that is incomplete is stored.
    """
    store = open_store(storage)  # a wrong address or secret: now, not after the download
    fetched = fetch_model(
        source, Path(storage.cache), file=file, token_variable=token_variable, say=say
    )
    with _staged(fetched, Path(storage.cache)) as folder:
        record = _stored(store, folder, fetched, name or _short(fetched.source), say)
    if fetched.snapshot is not None:
        hub.discard(fetched.snapshot)
    return record


def _stored(store: Store, folder: Path, fetched: Fetched, name: str, say: Say) -> ModelRecord:
    from components.update.conversion.speech import check_speech

    check_base(name, fetched.source, folder)
    check_shards(folder, fetched.source)
    speech = check_speech(folder, fetched.source)
    size = sum(path.stat().st_size for path in folder.iterdir())
    say(f"{speech.architecture}, {speech.num_tokens} tokens; storing {size / 1e6:.0f} MB")
    ref = store.upload_folder(folder, records.PREFIX)
    record = ModelRecord(
        name, ref.uri, ref.sha256, ref.bytes, fetched.source, fetched.licence,
        speech.architecture, _dtype(folder), speech.num_tokens, speech.max_length,
        speech.system_messages, speech.thinking,
    )  # fmt: skip
    records.save(store, record)
    return record


def check_shards(folder: Path, source: str) -> None:
    """Raise PolicyError if the index names weight files that are not there."""
    if not (folder / _INDEX).exists():
        return
    try:
        named = set(json.loads((folder / _INDEX).read_text())["weight_map"].values())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise PolicyError(f"{source}: {_INDEX} is damaged: {error}") from error
    missing = sorted(str(file) for file in named if not (folder / str(file)).is_file())
    if missing:
        raise PolicyError(
            f"{source}: {len(missing)} of {len(named)} weight files are missing, e.g. {missing[0]} "
            f"({_INDEX} names them)"
        )


@contextmanager
def _staged(fetched: Fetched, cache: Path) -> Iterator[Path]:
    """The files worth keeping in a folder of their own: hard links where the disk allows it."""
    with writing(cache):
        cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix="import-") as name:
        folder = Path(name)
        for path in sorted(fetched.folder.iterdir()):
            if path.is_file() and any(fnmatch(path.name, pattern) for pattern in hub.WANTED):
                _link(path.resolve(), folder / path.name)
        if (folder / _INDEX).exists():
            _drop_copies(folder)
        records.write_origin(folder, fetched.source, fetched.licence)
        yield folder


def _link(source: Path, target: Path) -> None:
    if source.name == records.ORIGIN or target.name == records.ORIGIN:
        return  # a link would be written through
    try:
        os.link(source, target)
    except OSError:  # another disk, or a file of somebody else's
        with writing(target):
            shutil.copyfile(source, target)


def _drop_copies(folder: Path) -> None:
    for pattern in _OTHERS:
        for path in folder.glob(pattern):
            path.unlink()


def _dtype(folder: Path) -> str:
    config = json.loads((folder / "config.json").read_text())
    return str(config.get("dtype") or config.get("torch_dtype") or "float32")


def _short(source: str) -> str:
    """`Qwen3-1.7B` of `hf://Qwen/Qwen3-1.7B@<commit>`."""
    text = source.removeprefix("hf://").removeprefix("pkg://").partition("@")[0]
    text = text.removeprefix("file ").removeprefix("folder ")
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text.rpartition("/")[2]).removesuffix(".gguf")
