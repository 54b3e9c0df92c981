"""Text of one role, made safe to stand in the prompt of another."""

MAX_QUOTED = 2_000
"""Characters that are quoted (the end of the text)."""


def quotable(text: str, limit: int = MAX_QUOTED) -> str:
    """The last `limit` characters, as valid Unicode and without the markers (`<|...|>`) that a
    chat template gives a meaning."""
    plain = text[-limit:].encode("utf-8", "replace").decode()
    return plain.replace("<|", "< |").strip()
