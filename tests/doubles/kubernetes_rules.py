"""What the stand-in of the Kubernetes API decides by: selectors, patches, names and access rules.

Pure functions of plain values; the server that uses them is in kubernetes_api.py.
"""

import copy
import re
from collections.abc import Sequence
from typing import Any

JSON = dict[str, Any]
NAME = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
LABEL = r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
NAME_LIMITS = {"services": 63, "namespaces": 63}
"""Longest name by plural; 253 otherwise."""


class Refused(Exception):
    """An answer that is no success: HTTP status, Kubernetes' reason, a sentence."""

    def __init__(self, status: int, reason: str, words: str) -> None:
        super().__init__(words)
        self.status, self.reason = status, reason


def check_metadata(metadata: JSON, plural: str) -> None:
    """The server's rules for names and labels. Refused with 422 as the server does."""
    name, limit = str(metadata.get("name", "")), NAME_LIMITS.get(plural, 253)
    if not re.fullmatch(NAME, name) or len(name) > limit:
        raise Refused(
            422, "Invalid",
            f'{plural} "{name}" is invalid: metadata.name: a lowercase RFC 1123 subdomain of at '
            f"most {limit} characters is expected",
        )  # fmt: skip
    for key, value in (metadata.get("labels") or {}).items():
        if not isinstance(value, str) or len(value) > 63 or not re.fullmatch(LABEL, value):
            raise Refused(422, "Invalid", f"metadata.labels: {key}: {value!r} is no label value")


def selects(selector: str | None, labels: JSON) -> bool:
    """A label selector such as `a=b,c!=d,e in (x,y),f notin (z),g,!h`."""
    parts = re.findall(r"(?:[^,(]|\([^)]*\))+", selector or "")
    return all(_matches(part.strip(), labels) for part in parts)


def _matches(part: str, labels: JSON) -> bool:
    if found := re.fullmatch(r"(\S+)\s+(in|notin)\s+\(([^)]*)\)", part):
        inside = labels.get(found[1]) in [value.strip() for value in found[3].split(",")]
        return inside == (found[2] == "in")
    if found := re.fullmatch(r"([^!=\s]+)\s*(!=|==?)\s*(\S*)", part):
        return (labels.get(found[1]) == found[3]) == (found[2] != "!=")
    return part[1:].strip() not in labels if part.startswith("!") else part in labels


def field_selects(selector: str | None, item: JSON) -> bool:
    """A field selector such as `metadata.name=x,status.phase!=Running`."""
    for part in filter(None, (selector or "").split(",")):
        path, operator, value = re.split(r"(!=|==?)", part, maxsplit=1)
        found: Any = item
        for name in path.split("."):
            found = found.get(name) if isinstance(found, dict) else None
        if (str(found or "") == value) != (operator != "!="):
            return False
    return True


def patched(item: JSON, patch: Any, kind: str, custom: bool) -> JSON:
    """The item after a patch of that content type. Custom resources take no strategic merge."""
    if kind == "application/json-patch+json":
        return _json_patched(item, patch)
    if kind == "application/merge-patch+json":
        return dict(_merged(item, patch, strategic=False))
    if kind == "application/strategic-merge-patch+json" and not custom:
        return dict(_merged(item, patch, strategic=True))
    raise Refused(415, "UnsupportedMediaType", f"{kind} is not supported for this resource")


def _merged(old: Any, new: Any, strategic: bool) -> Any:
    if strategic and _named(old) and _named(new):
        by_name = {each["name"]: each for each in old}
        for each in new:
            by_name[each["name"]] = _merged(by_name.get(each["name"], {}), each, strategic)
        return list(by_name.values())
    if not isinstance(new, dict):
        return copy.deepcopy(new)
    result = dict(old) if isinstance(old, dict) else {}
    for key, value in new.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merged(result.get(key), value, strategic)
    return result


def _named(value: Any) -> bool:
    """Whether it is a list that strategic merges join by name, such as containers and env."""
    return isinstance(value, list) and bool(value) and all(
        isinstance(each, dict) and "name" in each for each in value
    )  # fmt: skip


def _json_patched(item: JSON, operations: Sequence[JSON]) -> JSON:
    result = copy.deepcopy(item)
    for each in operations:
        *parents, last = [
            part.replace("~1", "/").replace("~0", "~") for part in each["path"].split("/")[1:]
        ]
        target: Any = result
        try:
            for part in parents:
                target = target[int(part)] if isinstance(target, list) else target[part]
            _operate(target, last, each)
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise Refused(422, "Invalid", f"the patch does not apply at {each['path']}") from error
    return result


def _operate(target: Any, last: str, each: JSON) -> None:
    operation, value = each["op"], each.get("value")
    if isinstance(target, list):
        index = len(target) if last == "-" else int(last)
        if operation == "add":
            target.insert(index, value)
        elif operation == "replace":
            target[index] = value
        else:
            del target[index]
        return
    if operation == "test" and target[last] != value:
        raise Refused(422, "Invalid", f"test of {each['path']} failed")
    if operation == "remove":
        del target[last]
    elif operation == "replace":
        _ = target[last]
        target[last] = value
    elif operation == "add":
        target[last] = value


def allowed(rules: Sequence[JSON], group: str, resource: str, verb: str, name: str) -> bool:
    """Whether a Role's rules allow a verb on `resource` (`plural` or `plural/subresource`)."""

    def has(values: Sequence[str], value: str) -> bool:
        return "*" in values or value in values

    return any(
        has(rule.get("apiGroups", []), group)
        and has(rule.get("resources", []), resource)
        and has(rule.get("verbs", []), verb)
        and (not rule.get("resourceNames") or name in rule["resourceNames"])
        for rule in rules
    )
