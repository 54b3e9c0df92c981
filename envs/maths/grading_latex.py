r"""What the algebra system reads: one LaTeX for spellings that only people and Python have.

`sqrt(12)`, `2^10`, `C(10, 5)`, and arguments without braces, as in `\frac12`. Nothing is computed.
"""

import re

from envs.maths.grading_text import closing

_PYTHON = (
    (re.compile(r"^([-+]?[\d.]+)[eE]\+?(-?\d{1,3})$"), r"\1*10^{\2}"),
    (re.compile(r"\*\*"), "^"),
    (re.compile(r"(?<![\\A-Za-z])sqrt\s*(\d+(?:\.\d+)?)"), r"\\sqrt{\1}"),
    (re.compile(r"(?<![\\A-Za-z])sqrt\s*(?=\()|\\sqrt\s+(?=\()"), r"\\sqrt"),
    (re.compile(r"(?<![\\A-Za-z])(pi|binom)(?![A-Za-z])"), r"\\\1 "),
    (re.compile(r"(?<![\\A-Za-z])log(?=\s*\()"), r"\\ln"),
    (re.compile(r"(?<![\\A-Za-z])(sin|cos|tan|ln|exp)(?=\s*\()"), r"\\\1"),
    (re.compile(r"\^\s*(-?\d{2,}|-\d)(?![\d.])"), r"^{\1}"),
)
_OPENERS = (
    ("^floor(", r"^{\lfloor ", r" \rfloor }"),
    ("^(", "^{", "}"),
    (r"\sqrt(", r"\sqrt{", "}"),
    ("floor(", r"\lfloor ", r" \rfloor "),
    ("ceil(", r"\lceil ", r" \rceil "),
)
_COMMAND = re.compile(r"\\(?:[A-Za-z]+|.)", re.DOTALL)
_ARGUMENTS = {r"\frac": 2, r"\binom": 2, r"\sqrt": 1}
_DEGREE = re.compile(r"\s*\[[^\[\]]*\]")
_RAISED = re.compile(r"\^\s*(?=\\(?:frac|sqrt)(?![A-Za-z]))")
_CHOOSE = re.compile(r"(?<![\\A-Za-z])C\(([^(),]+(?:\([^()]*\))?),([^(),]+)\)")


def latex(text: str) -> str:
    """Plain text (`grading_text.plain`) as the algebra system wants it."""
    for pattern, instead in _PYTHON:
        text = pattern.sub(instead, text)
    for opener, instead, closer in _OPENERS:
        text = _reclose(text, opener, instead, closer)
    return _CHOOSE.sub(r"\\binom{\1}{\2}", braced(text)).replace("*", r"\cdot ")


def braced(text: str) -> str:
    r"""Each argument in braces, as TeX reads it: `\frac12\pi` as `\frac{1}{2}\pi`."""
    parts, at = [], 0
    while at < len(text):
        part, at = _token(text, at)
        parts.append(part)
    return "".join(parts)


def _token(text: str, at: int) -> tuple[str, int]:
    """A command with its arguments, or one character; and where the next begins."""
    raised = _RAISED.match(text, at)
    if raised:
        argument, end = _argument(text, raised.end())
        return f"^{argument}", end
    command = _COMMAND.match(text, at)
    if command is None:
        return text[at], at + 1
    part, end = command[0], command.end()
    degree = _DEGREE.match(text, end) if part == r"\sqrt" else None
    if degree:
        part, end = part + degree[0].strip(), degree.end()
    for _ in range(_ARGUMENTS.get(command[0], 0)):
        argument, end = _argument(text, end)
        part += argument
    return part, end


def _argument(text: str, at: int) -> tuple[str, int]:
    """The next argument in braces; nothing if there is none."""
    while at < len(text) and text[at] == " ":
        at += 1
    if text[at : at + 1] == "{":
        end = closing(text, at)
        return (text[at:], len(text)) if end is None else (
            f"{{{braced(text[at + 1 : end - 1])}}}", end
        )  # fmt: skip
    if text[at : at + 1] == "\\" or text[at : at + 1].isalnum():
        part, end = _token(text, at)
        return f"{{{part}}}", end
    return "", at


def _reclose(text: str, opener: str, instead: str, closer: str) -> str:
    """Replace `opener ... )` with `instead ... closer`, for each balanced one."""
    at = text.find(opener)
    while at >= 0:
        inside = at + len(opener)
        end = closing(text, inside - 1)
        if end is None:
            break
        text = f"{text[:at]}{instead}{text[inside : end - 1]}{closer}{text[end:]}"
        at = text.find(opener, at + len(instead))
    return text
