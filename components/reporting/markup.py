"""Small pieces of HTML, every text escaped: tables, cards, labels."""

from collections.abc import Iterable, Sequence
from html import escape


def table(
    head: Sequence[str], body: Iterable[Sequence[str]], kind: str = "", caption: str = ""
) -> str:
    """A table; the first column names the row, the others are numbers (`last`: the last is text).

    It scrolls by itself where it is wider than the page, also with the keyboard.
    """
    top = "".join(f"<th scope=col>{escape(cell)}</th>" for cell in head)
    rows = "".join(_row(cells) for cells in body)
    named = f"<caption>{escape(caption)}</caption>" if caption else ""
    label = escape(caption or " ".join(head), quote=True)
    return (
        f"<div class='card scroll' tabindex=0 role=region aria-label=\"{label}\">"
        f"<table class='{kind}'>{named}<thead><tr>{top}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def card(label: str, value: str, note: str) -> str:
    """A number with what it is."""
    return (
        f"<div class=card><p class=note>{escape(label)}</p><p class=big>{escape(value)}</p>"
        f"<p class=note>{escape(note)}</p></div>"
    )


def section(title: str, *content: str, note: str = "", pill: str = "") -> str:
    """A headed part of the page; nothing where all its content is empty."""
    if not any(content):
        return ""
    said = f"<p class=note>{escape(note)}</p>" if note else ""
    name = escape(title.lower().replace(" ", "-"), quote=True)
    return f'<section><h2 id="{name}">{escape(title)} {pill}</h2>{said}{"".join(content)}</section>'


def link(address: str, text: str) -> str:
    """A link to a file beside the page. Only relative addresses are ever given."""
    return f'<a href="{escape(address, quote=True)}">{escape(text)}</a>'


def counted(count: int, what: str) -> str:
    """`1 run`, `2 runs`, `0 runs`."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _row(cells: Sequence[str]) -> str:
    first = f"<th scope=row>{escape(cells[0])}</th>"
    return f"<tr>{first}{''.join(f'<td>{escape(cell)}</td>' for cell in cells[1:])}</tr>"
