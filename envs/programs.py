"""The Python program in a model's text, for every role that writes one. Nothing is run here."""

import re

MAX_CHARACTERS = 40_000
"""Of a text; the end is read."""
_FENCE = re.compile(
    r"^[ \t]*```[ \t]*([\w+-]*)[^\n]*\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE
)
_PYTHON = ("", "py", "py3", "python", "python3")


def find_program(text: str) -> str | None:
    """The last fenced block that is Python, or has no language; None where there is none.

    Everything up to a closing `</think>` is dropped. A block that the length limit cut off counts
    to the end of the text.
    """
    answer = text[-MAX_CHARACTERS:].rpartition("</think>")[2]
    blocks = [body for language, body in _FENCE.findall(answer) if language.lower() in _PYTHON]
    program = next((body for body in reversed(blocks) if body.strip()), None)
    return program and program.encode("utf-8", "replace").decode()
