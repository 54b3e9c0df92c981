"""A tokenizer of words alone, made able to be served.

The tokenizers of models made from scratch (`init://`) refuse words that they do not know, so that
no training goes wrong unseen. vLLM's server tries texts of its own when it starts, and would end.
What is served or exported reads unknown words as padding instead; known words have the same ids.
"""

import hashlib
import json
import os
import shutil
import uuid
from pathlib import Path
from typing import Any

from components.storage.disk import writing
from components.storage.folders import MANIFEST

TOKENIZER = "tokenizer.json"


def make_tolerant(folder: Path) -> None:
    """Change the tokenizer of a folder in place if it refuses unknown words."""
    path = folder / TOKENIZER
    if (text := tolerant_text(path)) is not None:
        path.unlink()  # not written through: it may be a link
        path.write_text(text, encoding="utf-8")


def tolerant_folder(folder: Path, cache: Path) -> Path:
    """The folder itself, or a copy of it below `cache` if its tokenizer refuses unknown words."""
    if not (folder / TOKENIZER).is_file() or tolerant_text(folder / TOKENIZER) is None:
        return folder
    key = hashlib.sha256(str(folder.absolute()).encode()).hexdigest()[:32]
    target = cache / "bases" / f"served-{key}"
    if target.exists():
        return target
    partial = target.with_name(f"{target.name}.{uuid.uuid4().hex}.partial")
    with writing(partial):
        partial.mkdir(parents=True)
        for path in sorted(folder.iterdir()):
            if path.is_file() and path.name != MANIFEST:
                _link(path, partial / path.name)
        make_tolerant(partial)
        try:
            os.replace(partial, target)
        except OSError:  # another process was faster
            shutil.rmtree(partial, ignore_errors=True)
    return target


def tolerant_text(path: Path) -> str | None:
    """The tokenizer.json that reads unknown words as padding; None if it need not be changed."""
    if not path.is_file():
        return None
    content: Any = json.loads(path.read_text(encoding="utf-8"))
    model = content.get("model", {})
    words = model.get("vocab", {})
    if model.get("type") != "WordLevel" or model.get("unk_token") in words or not words:
        return None
    model["unk_token"] = min(words, key=words.__getitem__)  # the first id: padding
    return json.dumps(content)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # another disk
        shutil.copyfile(source, target)
