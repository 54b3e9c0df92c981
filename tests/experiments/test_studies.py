"""What a study's page says is what its results.json holds, of the study as it is now."""

from pathlib import Path

import pytest

from pipelines.study.plan import load_study
from pipelines.study.publishing import BEGIN, END, report_text, with_others

FOLDERS = sorted(path.parent for path in Path("experiments").glob("*/study.yaml"))
PUBLISHED = [folder for folder in FOLDERS if (folder / "results.json").exists()]


@pytest.mark.parametrize("folder", PUBLISHED, ids=lambda folder: folder.name)
def test_the_tables_are_those_of_the_results(folder: Path) -> None:
    study = load_study(folder / "study.yaml")
    found = with_others(study, [], [str(folder / "results.json")])
    shown = (folder / "README.md").read_text("utf-8").partition(BEGIN)[2].partition(END)[0]
    assert shown.strip().startswith(report_text(study, found))


@pytest.mark.parametrize("folder", PUBLISHED, ids=lambda folder: folder.name)
def test_no_arm_stopped_before_its_budget_or_went_on_after_it(folder: Path) -> None:
    study = load_study(folder / "study.yaml")
    for run in with_others(study, [], [str(folder / "results.json")]):
        before = run.points[0].candidates
        spent = [point.candidates - before for point in run.points]
        assert spent[-1] >= study.budget(run.arm)
        assert all(count < study.budget(run.arm) for count in spent[:-1])


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_study_without_results_says_so(folder: Path) -> None:
    text = (folder / "README.md").read_text("utf-8")
    assert (folder in PUBLISHED) != ("Not run yet." in text)
