"""Reports and episode pages of runs that real steps committed."""

import json
import re
from collections.abc import Callable, Mapping
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from components import records
from components.answers import keep_answers
from components.config import parse_config
from components.errors import ConfigError
from components.policies import PolicyRef
from components.records import Episode, Sample
from components.reporting.summary import collect
from components.reporting.unkept import unkept
from components.state import TrainingState, register_run, write_state
from components.step import run_step
from components.storage import open_store
from envs.base import Status
from pipelines import looking
from pipelines.__main__ import main
from pipelines.demo import demo_config
from pipelines.driver import run_name
from pipelines.finding import FoundRun
from pipelines.looking import hardware_of, write_episodes, write_report
from pipelines.profile import load_profile
from pipelines.verbs import episodes as episodes_verb
from pipelines.verbs import report as report_verb
from tests.components.reporting.viewer.rows import make_group
from tests.pipelines.test_driver import write_verdict

CERTIFICATE = {
    "groups": {"turn": [0], "role": ["tool"], "size": [2], "zero_variance": [0],
               "reward_std": [0.5]}
}  # fmt: skip


@pytest.fixture
def begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., FoundRun]:
    """Makes a run of two played iterations in a store of this test."""
    monkeypatch.chdir(tmp_path)

    def make(name: str = "r", seed: int = 0, **rollout: Any) -> FoundRun:
        config = parse_config(
            {
                "name": "maze", "env": {"name": "plan_path"}, "roles": {"tool": "tool"},
                "policies": {"tool": {"base": "init://", "init": {}}}, "seed": seed,
                "rollout": rollout, "storage": {"uri": f"file://{tmp_path}/store"},
            }
        )  # fmt: skip
        found = FoundRun(name, config, open_store(config.storage))
        register_run(found.store, name, config)
        for iteration in range(3):
            play(found, tmp_path, iteration)
        return found

    return make


def play(found: FoundRun, folder: Path, iteration: int) -> None:
    """Commit one iteration whose team solves `iteration` of 2 held-out tasks."""
    config, outputs = found.config.to_json(), {"scored": "", "episodes": "", "evaluation": ""}
    held_out = [
        Episode(f"m/{i}", f"m/{i}", "maze", "validation", 0, 1 + i,
                Status.SOLVED if i < iteration else Status.FAILED, 0.0)
        for i in range(2)
    ]  # fmt: skip

    def rollout(step: Any) -> Mapping[str, float]:
        Path(outputs["scored"]).write_text("")
        training = [Episode("t/0", "t/0", "maze", "train", 0, 1, Status.SOLVED, 1.0)]
        records.write(outputs["episodes"], Episode, training)
        records.write(outputs["evaluation"], Episode, held_out)
        answers = [row.scored for i in range(2) for row in make_group(f"m/{i}", rewards=(1.0,))]
        keep_answers(step, "validation", answers)
        prefix = "evaluation/validation"
        return {f"{prefix}/success": iteration / 2, f"{prefix}/num_tasks": 2.0}

    def group(step: Any) -> Mapping[str, float]:
        records.write(paths["samples"], Sample, make_group())
        Path(paths["certificate"]).write_text(json.dumps(CERTIFICATE))
        return {"grouping/num_samples": 2.0}

    outputs |= {name: str(folder / name) for name in outputs}
    paths = {name: str(folder / name) for name in ("samples", "certificate")}
    if iteration:
        run_step("rollout", config, found.name, iteration, {}, outputs, rollout)
        run_step("group", config, found.name, iteration, {}, paths, group)
    policy = PolicyRef("tool", iteration, f"{found.store.uri}/policies/x", "0" * 64, 1)
    state = TrainingState(
        found.name, iteration, found.config.digest(), {"tool": policy}, {}, {"tool": policy}, 0
    )
    write_state(found.store, state)


def options(*runs: str, **values: Any) -> Any:
    base = {"store": None, "output": None, "overrides": [], "name": None, "profile": None,
            "price_per_gpu_hour": None, "no_episodes": False}  # fmt: skip
    return SimpleNamespace(run=list(runs), **(base | values))


def store_of(found: FoundRun) -> str:
    return found.config.storage.uri


def test_a_report_has_its_run_and_a_link_to_its_episodes(
    begin: Callable[..., FoundRun], capsys: pytest.CaptureFixture[str]
) -> None:
    found = begin()
    assert report_verb._report(options("r", store=store_of(found))) == 0
    page = Path("build/runs/r/report.html").read_text()
    assert 'href="episodes.html"' in page and "team, prompts only" not in page
    assert "single agent + GRPO" in page
    assert 'href="report.html"' in Path("build/runs/r/episodes.html").read_text()
    printed = capsys.readouterr().out
    assert "report: build/runs/r/report.html" in printed and "promotion: not asked" in printed


def test_several_runs_share_a_report_with_relative_links(
    begin: Callable[..., FoundRun], capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [begin("a"), begin("b", 1), begin("c", 0, beam=2)]
    names = [run.name for run in runs]
    assert report_verb._report(options(*names, "a", store=store_of(runs[0]))) == 0
    page = Path("build/reports/a-and-2-more-ea7fb08b.html").read_text()
    assert "3 runs of 2 experiments" in page and "../runs/c/episodes.html" in page
    assert "2 seeds" in capsys.readouterr().out


def test_other_runs_have_another_report(begin: Callable[..., FoundRun]) -> None:
    a, b, c = begin("a"), begin("b"), begin("c")
    paths = [write_report(runs, with_episodes=False).path for runs in ([a, b], [a, c])]
    assert [path.stem.rpartition("-")[0] for path in paths] == ["a-and-1-more"] * 2
    assert paths[0] != paths[1]
    assert "<b>b</b>" in paths[0].read_text() and "<b>c</b>" in paths[1].read_text()
    again = [write_report(runs, with_episodes=False).path for runs in ([a, b, c], [a, c, b])]
    assert again[0] == again[1]


@pytest.mark.parametrize(
    ("runs", "pages"),
    [("a", ["100% of #1?-episodes"]),
     ("ab", ["100% of #1?-episodes-a", "100% of #1?-episodes-b"])],
)  # fmt: skip
def test_a_report_of_its_own_name_has_its_episodes_beside_it(
    begin: Callable[..., FoundRun], tmp_path: Path, runs: str, pages: list[str]
) -> None:
    found = [begin(name, seed) for seed, name in enumerate(runs)]
    output = "talk/100% of #1?.html"
    assert report_verb._report(options(*runs, store=store_of(found[0]), output=output)) == 0
    moved = (tmp_path / "talk").rename(tmp_path / "sent")
    assert sorted(item.stem for item in moved.iterdir()) == ["100% of #1?", *pages]
    assert followed(moved / "100% of #1?.html") == [moved / f"{page}.html" for page in pages]
    for page in pages:
        assert followed(moved / f"{page}.html") == [moved / "100% of #1?.html"]
    assert not Path("build/runs/a/episodes.html").exists()


def followed(page: Path) -> list[Path]:
    """The files that a page links to, as a browser finds them; parts of the page are none."""
    content = page.read_text().partition("<script>")[0]
    links = re.findall(r'<a href="([^"#][^"]*)"', content)
    found = [Path(unquote(urlsplit(urljoin(page.as_uri(), unescape(to))).path)) for to in links]
    assert found and all(path.is_file() for path in found), links
    return found


@pytest.mark.parametrize("output", ["", " "])
def test_a_report_without_a_name_is_refused(
    begin: Callable[..., FoundRun], capsys: pytest.CaptureFixture[str], output: str
) -> None:
    found = begin()
    said = f"error: --output is {output!r}; expected a file's name, or no --output at all\n"
    for verb in ("report", "episodes"):
        capsys.readouterr()
        assert main([verb, "r", "--store", store_of(found), "-o", output]) == 2
        assert capsys.readouterr().err == said
    assert not Path("build/runs/r/report.html").exists()


def test_the_run_of_the_help_is_that_of_the_demo() -> None:
    names = [run_name(demo_config(seed, "file", "auto", []), None) for seed in (0, 1)]
    assert set(re.findall(r"quickstart-[0-9a-f]{8}", report_verb.MORE)) == set(names)


def test_a_file_whose_settings_the_run_never_had_is_refused(
    begin: Callable[..., FoundRun], tmp_path: Path
) -> None:
    found = begin()
    path = tmp_path / "r.yaml"
    path.write_text(found.config.to_json())
    assert report_verb._report(options(str(path), name="r")) == 0
    other = options(str(path), name="r", overrides=["rollout.num_tasks=25"])
    with pytest.raises(
        ConfigError, match=r"run 'r' was begun with other settings than .*r.yaml and --set"
    ):
        report_verb._report(other)
    with pytest.raises(ConfigError, match="'r' is a run's name, its configuration is stored"):
        report_verb._report(options("r", name="q"))


def test_a_run_that_has_only_begun_has_no_episodes(begin: Callable[..., FoundRun]) -> None:
    found = begin()
    found.store.delete("runs/r/state/000001.json")
    found.store.delete("runs/r/state/000002.json")
    written = write_report([found])
    assert "its episodes" not in written.path.read_text()


def test_unreadable_episodes_leave_a_report(
    begin: Callable[..., FoundRun], capsys: pytest.CaptureFixture[str]
) -> None:
    found = begin()
    (key,) = (k for k in found.store.list("runs/r/steps/000002/group/") if k.endswith("/samples"))
    found.store.delete(key)
    written = write_report([found])
    assert "its episodes are left out" in capsys.readouterr().err
    assert "Curves" in written.path.read_text()


@pytest.mark.parametrize(
    ("step", "output", "what"),
    [("rollout", "evaluation", "turns to solve"), ("group", "certificate", "group statistics")],
)
def test_a_damaged_record_leaves_the_rest_of_a_report(
    step: str, output: str, what: str, begin: Callable[..., FoundRun],
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Also where it is the record of another evaluation than the last."""
    found = begin()
    whole = collect(found.store, found.config, "r").rows
    (key,) = (k for k in found.store.list(f"runs/r/steps/000002/{step}/") if k.endswith(output))
    found.store.write(key, found.store.read(key)[:-1])
    capsys.readouterr()
    assert report_verb._report(options("r", store=store_of(found), no_episodes=True)) == 0
    told = capsys.readouterr()
    (line,) = told.err.splitlines()
    begins = f"warning: r, iteration 2: {what} of its step '{step}' are left out: "
    assert line.startswith(f"{begins}{found.store.uri}/{key}: ")
    assert "report: build/runs/r/report.html" in told.out
    rows = collect(found.store, found.config, "r").rows
    assert [row.success for row in rows] == [row.success for row in whole] == [0.5, 1.0, None]
    assert whole[1].turns_to_solve == 1.5 and len(whole[2].signals) == 1
    assert rows[1].turns_to_solve == (None if step == "rollout" else 1.5)
    assert len(rows[1].signals) == 1 and len(rows[2].signals) == (step == "rollout")


def test_too_many_episodes_to_come_unasked_are_named(
    begin: Callable[..., FoundRun],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(looking, "MAX_CANDIDATES", 1)
    written = write_report([begin()])
    assert not Path("build/runs/r/episodes.html").exists()
    assert "its episodes" not in written.path.read_text()
    assert "candidates; `python -m pipelines episodes r --store file:///" in capsys.readouterr().out


def test_the_candidates_of_a_single_iteration_are_counted_once(
    begin: Callable[..., FoundRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = begin()
    found.store.delete("runs/r/state/000002.json")
    (row,) = (row for row in collect(found.store, found.config, "r").rows if row.iteration)
    monkeypatch.setattr(looking, "MAX_CANDIDATES", row.metrics["grouping/num_samples"])
    assert "its episodes" in write_report([found]).path.read_text()


def test_episodes_of_training_and_of_held_out_play(begin: Callable[..., FoundRun]) -> None:
    found = begin()
    verb = SimpleNamespace(run="r", store=store_of(found), iteration=2, against=1, output="e.html")
    assert episodes_verb._episodes(verb) == 0  # type: ignore[arg-type]
    assert write_episodes(found, 2).num_episodes == 3  # one of training, two held out
    assert write_episodes(found, 2, 1).num_episodes == 6
    assert write_episodes(found).path == Path("build/runs/r/episodes-000002.html")


def test_a_damaged_verdict_leaves_the_rest_of_a_report(
    begin: Callable[..., FoundRun], capsys: pytest.CaptureFixture[str]
) -> None:
    found = begin()
    write_verdict(found.store, found.config, "r", 2)
    (key,) = (k for k in found.store.list("runs/r/steps/000002/promote/") if k.endswith("verdict"))
    found.store.write(key, b"{")
    assert report_verb._report(options("r", store=store_of(found), no_episodes=True)) == 0
    told = capsys.readouterr()
    assert f"promotion: its answer cannot be read: {found.store.uri}/{key}: sha256" in told.out
    assert "promote' are left out" in told.err and "report: build/runs/r/report.html" in told.out


def test_damaged_answers_leave_the_rest_of_the_page(
    begin: Callable[..., FoundRun], capsys: pytest.CaptureFixture[str]
) -> None:
    found, key = begin(), "runs/r/answers/000002/rollout/validation.parquet"
    found.store.write(key, found.store.read(key)[:-1])
    assert write_episodes(found, 2).num_episodes == 1  # of training
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(
        "warning: r, iteration 2: answers of validation of its step 'rollout' are left out: "
        f"{found.store.uri}/{key}: "
    )


def test_held_out_answers_that_were_not_kept_are_told_with_the_way_to_have_them(
    begin: Callable[..., FoundRun], capsys: pytest.CaptureFixture[str]
) -> None:
    found = begin()
    uri = store_of(found)
    verb: Any = SimpleNamespace(run="r", store=uri, iteration=2, against=1, output="e.html")
    assert episodes_verb._episodes(verb) == 0
    assert not capsys.readouterr().err
    found.store.delete("runs/r/answers/000002/rollout/validation.parquet")
    assert episodes_verb._episodes(verb) == 0
    told = capsys.readouterr()
    assert told.err.splitlines() == [
        "note: r, iteration 2: no answers were kept of 'validation'; step 'rollout' has only how "
        f"the episodes ended: `python -m pipelines promote r --iteration 1 --store {uri} --dry-run`"
        " plays the team again and keeps its answers, as iteration 1's closing evaluation"
    ]
    assert "4 episodes" in told.out  # training of both, held-out play of the other
    found.store.delete("runs/r/answers/000001/rollout/validation.parquet")
    assert episodes_verb._episodes(verb) == 0
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_a_closing_evaluation_without_answers_says_what_is_to_be_deleted(
    begin: Callable[..., FoundRun], tmp_path: Path
) -> None:
    found, outputs = begin(), {"evaluation": str(tmp_path / "closing")}

    def evaluate(step: Any) -> Mapping[str, float]:
        ended = [Episode("m/0", "m/0", "maze", name, 0, 1, Status.SOLVED, 0.0)
                 for name in ("validation", "validation/swapped", "test")]  # fmt: skip
        records.write(outputs["evaluation"], Episode, ended)
        keep_answers(step, "test", [row.scored for row in make_group("m/0", rewards=(1.0,))])
        return {}

    run_step("evaluate", found.config.to_json(), "r", 2, {}, outputs, evaluate)
    (line,) = unkept(found.store, "r", 2)
    (key,) = (k for k in found.store.list("runs/r/steps/000002/evaluate/") if k.endswith(".json"))
    assert "kept of 'validation', 'validation/swapped'; step 'evaluate' has only" in line
    assert f"ended: delete {found.store.uri}/{key}, then `python -m pipelines promote r" in line
    assert "--iteration 2 " in line


@pytest.mark.parametrize(
    ("iteration", "against", "message"),
    [(0, None, "nothing was played in iteration 0; expected 1 to 2"), (9, None, "iteration 9"),
     (2, 2, "--against 2 is the iteration itself")],
)  # fmt: skip
def test_iterations_that_cannot_be_shown(
    begin: Callable[..., FoundRun], iteration: int, against: int | None, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        write_episodes(begin(), iteration, against)


def test_outputs_that_cannot_be_written_are_one_line(begin: Callable[..., FoundRun]) -> None:
    found = begin()
    for write in (lambda path: write_episodes(found, path=path),
                  lambda path: write_report([found], path)):  # fmt: skip
        with pytest.raises(ConfigError, match=r"is a folder; expected a file's name"):
            write(Path("/proc"))
        with pytest.raises(ConfigError, match=r"'/proc/x/y.html' cannot be written"):
            write(Path("/proc/x/y.html"))
    assert not list(Path().glob(".*.partial"))


def test_a_price_without_gpus_is_no_cost(begin: Callable[..., FoundRun]) -> None:
    found = begin()
    with pytest.raises(ConfigError, match=r"--price-per-gpu-hour 2.5: .*expected --profile"):
        report_verb._report(options("r", store=store_of(found), price_per_gpu_hour=2.5))


def test_a_price_given_goes_before_the_profiles() -> None:
    hardware = hardware_of(load_profile("8xh100"), 2.5)
    assert hardware.gpus["rollout"] == 8 and "group" not in hardware.gpus
    assert hardware.price_per_hour["update"] == 2.5
    assert hardware_of(load_profile("cpu"), 2.5).gpus == {}
