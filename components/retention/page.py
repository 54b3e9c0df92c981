"""A plan as text: bytes by kind and fate, why things are kept, and what goes."""

from collections.abc import Iterable

from components.aligned import aligned
from components.retention.plan import Fate, Item, Plan
from components.retention.sweep import describe, size_text

_FATES = (Fate.KEEP, Fate.MARK, Fate.WAIT, Fate.REMOVE)
_SHOWN = (Fate.MARK, Fate.WAIT, Fate.REMOVE, Fate.UNMARK)


def plan_lines(plan: Plan, dry_run: bool) -> list[str]:
    """The whole plan. `dry_run` lists every folder that goes; else removals say so themselves."""
    lines = [*aligned(_by_kind(plan), {0}), "", *aligned(_kept(plan.items), {0})]
    if dry_run:
        lines += ["", *(_line(item) for item in plan.items if item.fate in _SHOWN)]
        lines += [
            f"{fate} unfinished {left.key}, {size_text(left.bytes)}"
            for left, fate in plan.leftovers
        ]
        lines += [
            f"{note.fate} {note.key}, {size_text(note.bytes)}: {note.reason}"
            for note in plan.notes
            if note.fate is not Fate.KEEP
        ]
    return lines


def _by_kind(plan: Plan) -> list[list[str]]:
    """One row per kind of thing, one column per fate."""
    amounts: dict[str, dict[Fate, list[int]]] = {}
    for item in plan.items:
        fate: Fate = Fate.KEEP if item.fate is Fate.UNMARK else item.fate
        amounts.setdefault(item.kind, {}).setdefault(fate, []).append(item.folder.bytes)
    for left, of in plan.leftovers:
        amounts.setdefault("unfinished files", {}).setdefault(of, []).append(left.bytes)
    for note in plan.notes:
        amounts.setdefault(note.kind, {}).setdefault(note.fate, []).append(note.bytes)
    rows = [
        [kind, *(_amount(fates.get(fate, [])) for fate in _FATES)]
        for kind, fates in sorted(amounts.items())
    ]
    return [["", *(str(fate) for fate in _FATES)], *rows]


def _kept(items: Iterable[Item]) -> list[list[str]]:
    """One row per reason."""
    found: dict[str, list[int]] = {}
    for item in items:
        if item.fate in (Fate.KEEP, Fate.UNMARK):
            found.setdefault(item.reason, []).append(item.folder.bytes)
    return [[f"kept: {reason}", _amount(sizes)] for reason, sizes in sorted(found.items())]


def _line(item: Item) -> str:
    since = f" (marked {item.entry.when})" if item.fate is Fate.WAIT and item.entry else ""
    return f"{item.fate} {describe(item.folder)}: {item.reason}{since}"


def _amount(sizes: list[int]) -> str:
    return f"{len(sizes)}, {size_text(sum(sizes))}" if sizes else "-"
