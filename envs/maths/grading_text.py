r"""One way of writing: LaTeX, Unicode and Python spellings of an answer become the same text.

Only spelling: signs, sizes, text commands, spaces. No value is computed here. Answers are short
(`answers.MAX_ANSWER`), so every pass is.
"""

import re

from envs.maths.grading_units import currency_last, spelled_out

_SYMBOLS = {
    "−": "-", "–": "-", "—": "-", "×": r"\times ", "·": r"\cdot ", "∙": r"\cdot ", "÷": "/",
    "⁄": "/", "√": r"\sqrt ", "π": r"\pi ", "∞": r"\infty ", "≤": r"\le ", "≥": r"\ge ",
    "≠": r"\ne ", "°": r"^\circ ", "²": "^{2}", "³": "^{3}", "½": r"\frac{1}{2}",
    "¼": r"\frac{1}{4}", "¾": r"\frac{3}{4}", "∪": r"\cup ", "∈": r"\in ", "±": r"\pm ",
    "⌊": r"\lfloor ", "⌋": r"\rfloor ", "⌈": r"\lceil ", "⌉": r"\rceil ", "\u00a0": " ",
    "\u2009": " ", "\u202f": " ", "′": "'", "€": "", "£": "",
    "ℝ": r"\mathbb{R}",
}  # fmt: skip
_TRANSLATE = str.maketrans(_SYMBOLS)
_REPLACED = (
    (re.compile(r"(?<!\\)\\\$|\$|(?<!\\)\\[()\[\]]"), ""),
    (re.compile(r"\\(left|right|middle|[bB]igg?[lrm]?|displaystyle|textstyle)(?![A-Za-z])\.?"), ""),
    (re.compile(r"(?<=\d)(\{,\}|,?\\[,!]|,\\ )(?=\d{3}(?!\d))"), ""),
    (re.compile(r"(?<!\\)\\[,;:! ]|~|\\q?quad(?![a-z])"), " "),
    (re.compile(r"\\boxed\s*(?=\{)"), ""),
    (re.compile(r"\\[dtc]frac(?![a-z])"), r"\\frac"),
    (re.compile(r"\\lbrace(?![a-z])"), r"\\{"),
    (re.compile(r"\\rbrace(?![a-z])"), r"\\}"),
    (re.compile(r"\\(leq|leqslant)(?![a-z])|(?<!\\)<="), r"\\le "),
    (re.compile(r"\\(geq|geqslant)(?![a-z])|(?<!\\)>="), r"\\ge "),
    (re.compile(r"\\lt(?![a-z])"), "<"),
    (re.compile(r"\\gt(?![a-z])"), ">"),
    (re.compile(r"\\neq(?![a-z])|!="), r"\\ne "),
    (re.compile(r"\\(lor|vee)(?![a-z])"), " or "),
    (re.compile(r"\\(land|wedge)(?![a-z])"), " and "),
    (re.compile(r"\\%"), "%"),
    (re.compile(r"\\mathbb\s+([A-Z])(?![A-Za-z])"), r"\\mathbb{\1}"),
    (re.compile(r"\{([^{}]*)\\over(?![A-Za-z])([^{}]*)\}"), r"\\frac{\1}{\2}"),
    (re.compile(r"\^\s*(\\circ(?![a-z])|\{\s*\\circ\s*\})"), ""),
)  # fmt: skip
_ROOT = re.compile(r"√\s*(\d+(?:\.\d+)?)")
_TEXT = re.compile(r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mbox|rm|bf)\s*\{([^{}]*)\}")


def plain(text: str) -> str:
    """The answer in one spelling: `\\dfrac{3}{4}` as `\\frac{3}{4}`, `x**2` as `x^2`."""
    text = spelled_out(_ROOT.sub(r"\\sqrt{\1}", text).translate(_TRANSLATE))
    for pattern, instead in _REPLACED:
        text = pattern.sub(instead, text)
    for _ in range(3):  # text inside text
        text = _TEXT.sub(r" \1 ", text)
    text = " ".join(text.split()).rstrip(".,; \\")
    while text.startswith("{") and closing(text, 0) == len(text) and not _lists(text):
        text = text[1:-1].strip()
    return currency_last(text)


def spaceless(text: str) -> str:
    """For comparing letter by letter; a space that keeps words or numbers apart stays."""
    return re.sub(r"(?<![A-Za-z0-9]) +| +(?![A-Za-z0-9])", "", text)


def split_top(text: str, separators: re.Pattern[str]) -> list[str]:
    """The parts of `text` between separators that stand in no bracket or brace."""
    parts, depth, last, at = [], 0, 0, 0
    while at < len(text):
        letter = text[at]
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        found = separators.match(text, at) if depth == 0 else None
        if found and found.end() > at:
            parts.append(text[last:at].strip())
            last = at = found.end()
        else:
            at += 1
    return [*parts, text[last:].strip()]


def closing(text: str, start: int) -> int | None:
    """One past the bracket that closes the one at `start`; any kind closes any, as in (0, 1]."""
    depth = 0
    for at in range(start, len(text)):
        if text[at] in "([{":
            depth += 1
        elif text[at] in ")]}":
            depth -= 1
            if depth == 0:
                return at + 1
    return None


def _lists(text: str) -> bool:
    """Whether braces hold several things: a set as Python prints it."""
    return len(split_top(text[1:-1], re.compile("[,;]"))) > 1
