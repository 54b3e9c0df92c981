"""docs/tutorial.md, word by word: its files are written, its commands are run."""

import importlib
import shlex
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from envs import __main__ as envs_command
from envs.base import Split
from envs.checks import check_env
from pipelines import __main__ as pipelines_command
from tests.documents import Block, blocks, commands, files

PAGE = Path(__file__).parent.parent / "docs" / "tutorial.md"
MODULES = ("high_low", "test_high_low")
SMALL = (
    "iterations=1", "warm_start.steps=5", "warm_start.num_tasks=16", "rollout.num_tasks=2",
    "rollout.num_turns=2", "rollout.engine=transformers", "evaluation.num_tasks=3",
)  # fmt: skip


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A reader's folder, with `my_envs` in it and on the path."""
    folder = tmp_path / "my_envs"
    folder.mkdir()
    for name, content in files(PAGE).items():
        (folder / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(folder))
    yield tmp_path
    for name in MODULES:
        sys.modules.pop(name, None)


def call(line: str) -> int:
    """A command of the page in this process."""
    python, flag, module, *rest = shlex.split(line)
    assert (python, flag) == ("python", "-m"), line
    main = {"envs": envs_command.main, "pipelines": pipelines_command.main}[module]
    return main(rest)


def shown_outputs() -> list[tuple[list[str], str]]:
    """(commands, what the page says they print): a bash block and the text block behind it."""
    found = blocks(PAGE)
    pairs = zip(found, found[1:], strict=False)
    return [
        (first.text.splitlines(), second.text)
        for first, second in pairs
        if (first.language, second.language) == ("bash", "text") and "python -m envs" in first.text
    ]


def test_the_page_has_a_file_for_every_step() -> None:
    assert set(files(PAGE)) == {"high_low.py", "experiment.yaml", "test_high_low.py"}
    lines = [line for line in commands(PAGE) if line.startswith("python -m")]
    assert [shlex.split(line)[2:4] for line in lines] == [
        ["envs", "check"], ["envs", "check"], ["envs", "play"],
        ["pipelines", "config"], ["pipelines", "compile"], ["pipelines", "run"],
    ]  # fmt: skip


@pytest.mark.parametrize("number", range(len(shown_outputs())))
def test_commands_print_what_the_page_shows(
    number: int, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, text = shown_outputs()[number]
    assert [call(line) for line in lines] == [0] * len(lines)
    assert capsys.readouterr().out == text


def test_its_own_test_passes(place: Path) -> None:
    importlib.import_module("test_high_low").test_contract()


def test_the_mistake_that_it_suggests_is_found(place: Path) -> None:
    source = place / "my_envs" / "high_low.py"
    right = source.read_text()
    assert right.count("numbers.get(word)") == 1
    source.write_text(right.replace("numbers.get(word)", "int(word)"))
    env = importlib.import_module("high_low").make_high_low({}, "dense")
    assert any("on the illegal text '' raises ValueError" in found for found in check_env(env))


def test_what_the_guesser_reads_does_not_depend_on_the_secret(place: Path) -> None:
    env = importlib.import_module("high_low").make_high_low({}, "dense")
    for task in env.tasks(Split.TRAIN, 0, 0, 60):
        game = env.step(env.reset(task), "hinter", f"it is {task.payload[1]}").state
        for secret in range(game.low, game.high + 1):
            other = replace(game, secret=secret)
            assert env.observe(other, "guesser") == env.observe(game, "guesser")
            assert env.picture(other) == env.picture(game)


def test_the_configuration_resolves_and_compiles(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, compile_ = [
        line for line in commands(PAGE) if " config " in line or " compile " in line
    ]
    assert call(config) == 0
    assert "high_low:make_high_low" in capsys.readouterr().out
    assert call(compile_) == 0
    assert (place / "build" / "high_low.yaml").stat().st_size > 1000


def test_an_entry_point_gives_it_a_short_name(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (block,) = [block for block in blocks(PAGE) if block.language == "toml"]
    _install(place / "my_envs", block)
    assert call("python -m envs list") == 0
    rows = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line}
    assert rows["high_low"].endswith("one says higher or lower, the other guesses.")
    assert call("python -m envs play high_low --auto --turns 1") == 0


def _install(folder: Path, block: Block) -> None:
    """What an installer leaves of the page's pyproject.toml."""
    project = tomllib.loads(block.text)["project"]
    metadata = folder / f"high_low-{project['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in points.items())
        for group, points in project["entry-points"].items()
    ]
    (metadata / "entry_points.txt").write_text("\n".join(lines))


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.filterwarnings("ignore::UserWarning:torch")
def test_a_reduced_run_trains_both_roles(place: Path) -> None:
    (run,) = [line for line in commands(PAGE) if " run " in line]
    sets = " ".join(f"--set {value}" for value in SMALL)
    assert call(f"{run} --name r --runner inprocess {sets}") == 0
    assert list(place.glob("build/store/runs/r/steps/000001/commit/*"))
