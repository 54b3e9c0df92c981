"""Prints a study's results and writes them: JSON, tables, curves, and the study's own README."""

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from components.errors import ConfigError
from pipelines.study.claims import findings
from pipelines.study.code import difference
from pipelines.study.figures import write_curves, write_rewards
from pipelines.study.plan import Study
from pipelines.study.results import RunResult, chosen, parse_results, results
from pipelines.study.running import STUDIES
from pipelines.study.tables import arms_table, claims_table, note

_ALT = {
    "curves.svg": "Success, and turns of solved episodes, over the generated candidates",
    "rewards.svg": "Standardised reward of every role, by arm",
}
_BANDS = "Lines are means over seeds, bands go from the lowest seed to the highest."
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"


def publish(
    study: Study,
    file: str | None,
    say: Callable[[str], None],
    others: Sequence[str] = (),
    published: str | None = None,
) -> None:
    """Print and write what is done, here and in `others`: results.json of other machines.

    With `file`, also into README.md, results.json and the curves beside it, where runs that are in
    that results.json and not done here stay. `published`: a study's file, whose results.json is
    told where nothing is done here.
    """
    found = _or_published(study, with_others(study, results(study, say), others), published, say)
    if file is not None:
        found = with_others(study, found, _own(Path(file).parent), left_out=say)
    if not found:
        say(f"{study.plan.name}: no run is done yet")
        return
    _tell_codes(found)
    text = report_text(study, found)
    folder = STUDIES / study.plan.name
    folder.mkdir(parents=True, exist_ok=True)
    _keep(found, folder)
    (folder / "table.md").write_text(text + "\n")
    pictures = _pictures(study, found, folder)
    say(text)
    say(f"results: {folder}/results.json, table.md, curves.svg, rewards.svg")
    if file is not None:
        _keep(found, Path(file).parent)
        _into_readme(Path(file).parent, text, pictures)
        say(f"written into {Path(file).parent / 'README.md'}")


def tell_some(
    study: Study,
    arms: Sequence[str],
    seeds: Sequence[int],
    say: Callable[[str], None],
    others: Sequence[str] = (),
    published: str | None = None,
) -> None:
    """Print the tables of some arms and seeds (none given: of all), and write nothing: what is
    written is always the whole study."""
    here = with_others(study, results(study, say, arms, seeds), others)
    whole = _or_published(study, here, published, say)
    found = [item for item in whole if chosen((item.arm, item.seed), arms, seeds)]
    if not found:
        say(f"{study.plan.name}: no run of these arms and seeds is done yet")
        return
    _tell_codes(found)
    say(report_text(_of_arms(study, arms), found))
    say("of the arms and seeds that were asked for; no file was written")


def _or_published(
    study: Study, found: list[RunResult], file: str | None, say: Callable[[str], None]
) -> list[RunResult]:
    own = [] if file is None or found else _own(Path(file).parent)
    if own:
        found = with_others(study, [], own, left_out=say)
        say(f"no run is done here; these are of {own[0]}")
    return found


def _of_arms(study: Study, arms: Sequence[str]) -> Study:
    """The study with the claims that can be made of these arms."""
    claims = [
        claim
        for claim in study.plan.claims
        if not arms or {end.partition("/")[0] for end in (claim.first, claim.second)} <= set(arms)
    ]
    return replace(study, plan=study.plan.model_copy(update={"claims": claims}))


def _tell_codes(found: Sequence[RunResult]) -> None:
    if line := difference([item.code for item in found]):
        print(line, file=sys.stderr)


def with_others(
    study: Study,
    found: Sequence[RunResult],
    files: Sequence[str],
    left_out: Callable[[str], None] | None = None,
) -> list[RunResult]:
    """`found`, and what the files have of runs that are not in it, in the plan's order.

    ConfigError for a result of other settings or of an arm or seed that the study has not;
    `left_out` is told instead, if given.
    """
    known = {(item.arm, item.seed): item for item in found}
    for path in files:
        for item in _read(path):
            if (fault := _fault(study, item)) is None:
                known.setdefault((item.arm, item.seed), item)
            elif left_out is None:
                raise ConfigError(f"{path}: {fault}")
            else:
                left_out(f"left out of {path}: {fault}")
    order = [(arm, seed) for arm in study.plan.arms for seed in study.plan.seeds]
    return [known[job] for job in order if job in known]


def _fault(study: Study, item: RunResult) -> str | None:
    """Why a result is none of this study's; None if it is one."""
    if item.arm not in study.plan.arms or item.seed not in study.plan.seeds:
        return f"{item.arm}, seed {item.seed}: not of {study.plan.name}"
    if item.digest != study.digest(item.arm, item.seed):
        return (
            f"{item.arm}, seed {item.seed}: trained with other settings than {study.plan.name} has "
            "now; expected a file that this study wrote"
        )
    return None


def _own(folder: Path) -> list[str]:
    path = folder / "results.json"
    return [str(path)] if path.exists() else []


def _read(path: str) -> list[RunResult]:
    try:
        return parse_results(Path(path).read_text("utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ConfigError(f"{path}: not a study's results.json: {error}") from error


def _keep(found: Sequence[RunResult], folder: Path) -> None:
    """Write results.json: a line for each run."""
    lines = ",\n".join(json.dumps(item.to_json()) for item in found)
    (folder / "results.json").write_text(f"[\n{lines}\n]\n", "utf-8")


def report_text(study: Study, found: Sequence[RunResult]) -> str:
    """Both tables as Markdown, with what their intervals are."""
    tables = [arms_table(study, found), note(study)]
    if study.plan.claims:
        tables.append(claims_table(findings(study, found)))
    return "\n\n".join(tables)


def _into_readme(folder: Path, text: str, pictures: Sequence[Path]) -> None:
    path = folder / "README.md"
    content = path.read_text(encoding="utf-8") if path.exists() else ""
    if BEGIN not in content or END not in content:
        raise ConfigError(f"{path}: has no lines `{BEGIN}` and `{END}` to write between")
    before, _, rest = content.partition(BEGIN)
    after = rest.partition(END)[2]
    for picture in pictures:
        shutil.copyfile(picture, folder / picture.name)
    shown = "\n\n".join(f"![{_ALT[picture.name]}]({picture.name})" for picture in pictures)
    shown += f"\n\n{_BANDS}"
    path.write_text(f"{before}{BEGIN}\n{text}\n\n{shown}\n{END}{after}", encoding="utf-8")


def _pictures(study: Study, found: Sequence[RunResult], folder: Path) -> list[Path]:
    """Draw them into the folder; those that there are."""
    curves, rewards = folder / "curves.svg", folder / "rewards.svg"
    write_curves(study, found, curves)
    return [curves, *[rewards] * write_rewards(study, found, rewards)]
