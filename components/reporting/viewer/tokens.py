"""What a token id looks like, read from a policy's `tokenizer.json` without a tokenizer library.

Word-level and byte-level vocabularies are spelled out; of others the vocabulary's own entries are
shown. Only for people: nothing is trained on it.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from components.errors import StorageError
from components.policies import PolicyRef
from components.storage import Store


def spellings(store: Store, ref: PolicyRef, ids: Iterable[int]) -> dict[int, str]:
    """id -> text, of the ids given; empty if the store holds no tokenizer of the policy."""
    content = _tokenizer(store, ref)
    return vocabulary(content, set(ids)) if content else {}


def vocabulary(tokenizer: Any, ids: Collection[int]) -> dict[int, str]:
    """id -> text of a `tokenizer.json`'s content, for the ids that it has."""
    vocab = tokenizer["model"].get("vocab", {})
    tokens = [item[0] for item in vocab] if isinstance(vocab, list) else list(vocab)
    numbers = range(len(tokens)) if isinstance(vocab, list) else vocab.values()
    parts = json.dumps([tokenizer.get("decoder"), tokenizer.get("pre_tokenizer")])
    table = _byte_of() if "ByteLevel" in parts else {}
    words = {
        number: _from_bytes(token, table) if table else token.replace("▁", " ")
        for number, token in zip(numbers, tokens, strict=True)
        if number in ids
    }
    added = {item["id"]: item["content"] for item in tokenizer.get("added_tokens", [])}
    return words | {number: text for number, text in added.items() if number in ids}


def _tokenizer(store: Store, ref: PolicyRef) -> Any:
    """The content of the policy's, else of its base's `tokenizer.json`."""
    for owner in (ref, ref.base):
        if owner is None:
            continue
        key = f"{'/'.join(owner.uri.split('/')[-2:])}/tokenizer.json"  # also in a store that moved
        try:
            if store.exists(key):
                return json.loads(store.read(key))
        except (StorageError, ValueError):
            return None
    return None


def _from_bytes(token: str, table: Mapping[str, int]) -> str:
    """GPT-2's printable stand-ins for bytes, decoded; half a character becomes U+FFFD."""
    if any(letter not in table for letter in token):
        return token
    return bytes(table[letter] for letter in token).decode("utf-8", "replace")


def _byte_of() -> dict[str, int]:
    """Letter -> byte: printable Latin-1 stands for itself, the rest for code points from 256 on."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [byte for byte in range(256) if byte not in plain]
    return {chr(b): b for b in plain} | {chr(256 + i): b for i, b in enumerate(rest)}
