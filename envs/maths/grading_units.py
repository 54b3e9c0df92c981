"""The unit after a number: only units that are listed here, and only after a value.

Anything else that follows a number (a variable, a number word, a remark) is part of the answer.
Units are named, never converted: `5 cm` is neither `5 m` nor `50 mm`.
"""

import re
from typing import NamedTuple

from envs.maths.grading_numbers import read_number
from envs.maths.grading_words import bare

_LISTED = """
m metre meter|cm centimetre centimeter|mm millimetre millimeter|km kilometre kilometer
in inch inches|ft foot feet|yd yard|mi mile
g gram|kg kilogram|mg milligram|lb lbs pound|oz ounce|ton tonne
s sec second|min minute|h hr hour|day|week|month|year yr|century centuries
L l litre liter|mL ml millilitre milliliter|gallon gal|pint|quart|cup|barrel
degree deg|radian rad|celsius|fahrenheit|unit
dollar USD usd|cent|euro EUR|pence penny pennies|GBP|rupee Rs INR|yuan|yen
mph|kph|volt|watt|kilowatt kW|joule|newton|hertz Hz|byte|bit|am AM|pm PM|calorie
person people persons|man men|woman women|child children|student|kid|boy|girl|adult|player|friend
worker|guest|passenger|member|teacher|animal|cow|sheep|dog|cat|fish|fishes|bird|chicken|egg
apple|orange|banana|peach peaches|lemon|mango mangoes|strawberry strawberries|cherry cherries
cookie|cake|pizza|slice|candy candies|sandwich sandwiches|muffin|cupcake|potato potatoes
book|page|word|letter|pencil|pen|card|coin|ticket|stamp|marble|ball|toy|shirt|shoe|sock|box boxes
bag|bottle|jar|basket|bucket|piece|flower|tree|plant|leaf leaves|car|bus buses|bike|truck
house|room|chair|table|seat|game|point|goal|question|problem|lesson|class classes|crayon|sticker
photo|picture|song|movie|video|bead|brick|block|step|lap|trip|item|way|solution
"""
_CANONICAL = {
    spelling: spellings[0]
    for line in _LISTED.splitlines()
    for group in line.split("|")
    for spellings in [group.split()]
    for spelling in spellings
}
_LETTERS = "mgsLlh"
"""Units of one letter; only after a number and a space, or set upright."""
_WORD = r"(?:(?:square|sq\.?|cubic|cu\.?) )?[A-Za-z]{1,13}(?: ?\^ ?(?:\{ ?-?\d ?\}|-?\d))?"
_UNIT = re.compile(
    rf"(.*(?:[\d)}}!.]|\\pi|[^A-Za-z]pi))( ?)({_WORD}(?:(?: ?/ ?| per (?:an? )?| ){_WORD}){{0,2}})"
)
_PART = re.compile(
    r"(?P<join>/|per an? |per )?(?:(?P<size>square|sq\.?|cubic|cu\.?) )?(?P<name>[A-Za-z]+)"
    r"(?: ?\^ ?\{? ?(?P<power>-?\d) ?\}?)?"
)
_UPRIGHT = re.compile(
    r"(?<=[\d})/])((?:\s|\\[,;:! ]|~)*)\\(?:text|textrm|mathrm|rm|mbox)\s*"
    r"\{\s*([mgsLlh])(?:\s*/\s*([mgsLlh]))?\s*\}"
)
_TEMPERATURE = re.compile(
    r"\^\s*(?:\\circ|\{\s*\\circ\s*\})\s*(?:\\(?:text|textrm|mathrm|rm)\s*)?(?:\{\s*)?"
    r"([CF])(?![A-Za-z])\s*\}?"
)
_BEFORE = re.compile(r"(USD|EUR|GBP|INR|Rs\.?)\s*(?=[\d.])(.*\d)")


class Measured(NamedTuple):
    """A value and its unit."""

    value: str
    unit: str = ""
    """In one spelling; empty if there is none."""
    sure: bool = False
    """Whether the letters can hardly be variables: `5 cm`, but neither `5 m` nor `5cm`."""


def spelled_out(text: str) -> str:
    r"""LaTeX whose spelling says that it is a unit, as a word: `5\text{ m}`, `20^\circ C`."""
    text = _TEMPERATURE.sub(lambda found: " celsius " if found[1] == "C" else " fahrenheit ", text)
    return _UPRIGHT.sub(_names, text)


def currency_last(text: str) -> str:
    """`USD 5` as `5 USD`."""
    found = _BEFORE.fullmatch(text)
    return f"{found[2]} {found[1].rstrip('.')}" if found else text


def split_unit(text: str) -> Measured:
    """`18 dollars` as value and unit; words that are no listed unit stay where they are."""
    found = _UNIT.fullmatch(text)
    unit = _canonical(found[3]) if found else None
    if found is None or unit is None:
        return Measured(text)
    value, longest = found[1].strip(), max(map(len, re.findall("[A-Za-z]+", found[3])))
    if longest == 1 and not (found[2] and read_number(bare(value))):
        return Measured(text)
    if not (read_number(bare(value)) or _closed(value)):
        return Measured(text)
    return Measured(value, unit, longest > 2 or (longest == 2 and bool(found[2])))


def without_units(mine: str, theirs: str) -> tuple[str, str] | None:
    """Answer and reference without their units; None if they have different ones.

    A unit on one side only goes if it is surely one, or if it is the answer's and the reference is
    a plain number: a reference of `2 m` may be twice m.
    """
    one, other = split_unit(mine), split_unit(theirs)
    if one.unit and other.unit:
        return (one.value, other.value) if one.unit == other.unit else None
    if one.unit and (one.sure or read_number(bare(theirs))):
        mine = one.value
    if other.unit and other.sure:
        theirs = other.value
    return mine, theirs


def _names(found: re.Match[str]) -> str:
    names = {letter: _spelled(letter) for letter in _LETTERS}
    return f" {names[found[2]]}" + (f"/{names[found[3]]} " if found[3] else " ")


def _spelled(letter: str) -> str:
    """The longest name of a unit of one letter."""
    return max((name for name, unit in _CANONICAL.items() if unit == _CANONICAL[letter]), key=len)


def _canonical(text: str) -> str | None:
    """`miles per hour` as `mi/h`; None if a word is no unit."""
    parts = []
    for found in _PART.finditer(text):
        name = _unit_name(found["name"])
        if name is None:
            return None
        sizes = {"s": "2", "c": "3"}
        power = found["power"] or sizes.get((found["size"] or " ")[0], "1")
        parts.append(("/" if found["join"] else "*") + name + ("" if power == "1" else power))
    if parts[:1] == ["*degree"] and len(parts) > 1:
        parts = parts[1:]
    return "".join(parts) if parts and parts[0][0] == "*" else None


def _unit_name(word: str) -> str | None:
    known = _CANONICAL.get(word)
    if known or len(word) < 3:
        return known
    lower = word.lower()
    return _CANONICAL.get(lower) or _CANONICAL.get(lower.removesuffix("s"))


def _closed(value: str) -> bool:
    r"""Whether no letter in it can be a variable: `6\sqrt{3}`, `12\pi`."""
    return not re.search("[A-Za-z]", re.sub(r"\\[A-Za-z]+|(?<![A-Za-z])(?:sqrt|pi)", "", value))
