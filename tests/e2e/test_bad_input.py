"""What a user reads if something is wrong: one line, an exit code, and a run that can go on.

Every fault is met by the command line as a user meets it, and repaired; the same command then ends
with the weights of a run that never had the fault.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.doubles.words import Words
from tests.e2e.workplace import SCRATCH, Workplace, words_experiment

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:torch"),
    # a weak reference of sqlalchemy's, while a database under a broken run is collected
    pytest.mark.filterwarnings("ignore:Exception ignored in. <function _collection_gced"),
]
FULL = pytest.mark.full
ROLES = {"first": "solo", "second": "solo"}
RUN = ("run", "--name", "r", "--runner", "inprocess")
STEP = "error: {} \\(run r, iteration {}\\): "


@dataclass(frozen=True)
class Place(Workplace):
    """A workplace whose commands are judged by what they print."""

    capture: pytest.CaptureFixture[str]
    expected: dict[str, tuple[str, str]]
    """Weights of an undisturbed run."""

    def refused(self, words: str, code: int, latest: int | None) -> None:
        """`run` prints one error line that matches, exits with `code`, and commits no more."""
        self.capture.readouterr()
        assert self.call(*RUN) == code
        errors = self.capture.readouterr().err.splitlines()
        assert len(errors) == 1 and re.match(words, errors[0]), errors
        assert self.latest("r") == latest

    def goes_on(self) -> None:
        """`run` ends well, with the weights of an undisturbed run."""
        assert self.call(*RUN) == 0
        assert self.weights("r", 1) == self.expected


Make = Callable[..., Place]


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    """An undisturbed run, `r`."""
    place = Workplace(tmp_path_factory.mktemp("reference"))
    place.write(words_experiment(ROLES))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place.folder)
        assert place.call(*RUN) == 0
    return place


@pytest.fixture
def make_place(here: Path, capfd: pytest.CaptureFixture[str], reference: Workplace) -> Make:
    """A place with an experiment; sections replace or add. MLflow's tables are copied: they
    take seconds to make."""

    def make(**sections: Any) -> Place:
        shutil.copy(reference.folder / "mlflow.db", here)
        place = Place(here, capfd, reference.weights("r", 1))
        place.write(words_experiment(ROLES, **sections))
        return place

    return make


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, where `build/` comes to lie."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def place(make_place: Make) -> Place:
    return make_place()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that reads the environment's words, as a user would keep it."""
    from components.settings import InitConfig
    from components.update.initialise.scratch import write_scratch_model

    folder = tmp_path_factory.mktemp("base") / "model"
    write_scratch_model(folder, InitConfig(**SCRATCH["init"]), Words().lexicon(), seed=0)
    return folder


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        ({"colour": 1}, "colour: unknown key"),
        ({"rollout": {"num_candidate": 2}}, "rollout.num_candidate: unknown key"),
        ({"env": {"options": {}}}, "env.name: missing"),
        ({"policies": None}, "policies: .* valid dictionary"),
        ({"roles": {"first": "solo"}}, r"roles: unknown \[\], missing \['second'\]; .*'words'"),
        ({"roles": {"first": "solo", "second": "duo"}}, r"roles.second is 'duo'; .*\['solo'\]"),
        ({"roles": ROLES | {"third": "solo"}}, r"roles: unknown \['third'\], missing \[\]"),
        ({"rollout": {"num_candidates": 1}}, "num_candidates is 1: a group of one has no baseline"),
        ({"env": {"name": "chess"}}, "env: env.name is 'chess'; expected one of"),
        ({"env": {"name": "tests.doubles.words:make_chess"}}, "env: .*cannot be loaded"),
        ({"storage": {"uri": "ftp://x"}}, ".*'ftp://x'.*file://"),
    ],
)
def test_a_wrong_configuration(place: Place, sections: dict[str, Any], words: str) -> None:
    base = words_experiment(ROLES)
    content = base | {
        name: base.get(name, {}) | value if name in ("rollout",) else value
        for name, value in sections.items()
    }
    place.write(content)
    assert place.call(*RUN) == 2
    lines = place.capture.readouterr().err.splitlines()
    assert len(lines) == 1 and re.match(rf"error: (\S*config.yaml: )?.*{words}", lines[0]), lines
    place.write(base)
    assert place.call("config") == 0


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("nan", r"task words/\S+ turn 0 role first node root candidate 0: reward part .* is nan, "),
        ("no_tasks", r"environment 'words': split train \(seed 0\) has no tasks from 0 on"),
        ("unknown_word", r".*\(policy solo\): .*words outside its vocabulary: \['zebra'\]"),
    ],
)
def test_a_faulty_environment(here: Path, make_place: Make, fault: str, words: str) -> None:
    """A reward that is no number, an empty batch, prompts that the tokenizer does not know."""
    switch = here / "switch"
    env = {"name": "tests.doubles.words:make_words", "options": {"switch": str(switch)}}
    place = make_place(env=env)
    switch.write_text(fault)
    early = fault == "no_tasks"  # seen before a step starts
    where = "error: " if early else STEP.format("rollout", 1)
    place.refused(where + words, 2 if early else 1, latest=None if early else 0)
    switch.unlink()
    place.goes_on()


def unlink(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def cut(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:40])


def other_words(folder: Path) -> None:
    """A tokenizer of the right size and another language."""
    path = folder / "tokenizer.json"
    path.write_text(path.read_text().replace('"first"', '"premier"'))


def larger_tokenizer(folder: Path) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"vocab_size": 7}))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (shutil.rmtree, "has no safetensors, got no folder"),
        pytest.param(unlink("tokenizer.json"), "has no tokenizer.json, got", marks=FULL),
        pytest.param(larger_tokenizer, "has 27 tokens, expected at most the model's 7", marks=FULL),
        (other_words, r".*words outside its vocabulary: \['first'\]"),
        pytest.param(cut("tokenizer.json"), "has a damaged tokenizer.json: ", marks=FULL),
        pytest.param(cut("config.json"), "has a damaged config.json: ", marks=FULL),
        (cut("model.safetensors"), "has a damaged model.safetensors: "),
    ],
)  # fmt: skip
def test_a_base_that_is_no_model(
    here: Path,
    make_place: Make,
    model: Path,
    spoil: Callable[[Path], object],
    words: str,
) -> None:
    """Missing, damaged, or with a wrong tokenizer: found before iteration 0 is committed."""
    mine = here / "mine"
    shutil.copytree(model, mine)
    place = make_place(policies={"solo": {"base": f"file://{mine}"}})
    spoil(mine)
    line = f"policy solo: (tokenizer of )?base file://{mine} {words}"
    place.refused(STEP.format("initialise", 0) + line, 1, latest=None)
    shutil.rmtree(mine, ignore_errors=True)
    shutil.copytree(model, mine)
    assert place.call(*RUN) == 0
    assert place.latest("r") == 1


@pytest.fixture
def stopped(place: Place) -> Place:
    """A run that was stopped after its rollout."""
    assert place.call(*RUN) == 0
    run = place.folder / "store/runs/r"
    (run / "state/000001.json").unlink()
    for step in run.glob("steps/000001/*"):
        if step.name not in ("load_state", "rollout"):
            shutil.rmtree(step)
    return place


def damage(path: Path, data: bytes) -> None:
    """Replace a stored file, which is read-only."""
    path.chmod(0o644)
    path.write_bytes(data)


def test_a_truncated_parquet_file_in_the_store(stopped: Place) -> None:
    (scored,) = stopped.folder.glob("store/runs/r/steps/000001/rollout/*/scored")
    good = scored.read_bytes()
    damage(scored, good[: len(good) // 2])
    words = r"file://\S+/scored: sha256 expected \w{64}, got \w{64}; delete (file://(\S+)) to "
    stopped.refused(STEP.format("rollout", 1) + words, 1, latest=0)
    (scored.parent / "manifest.json").unlink()  # what the line says
    stopped.goes_on()


def test_a_truncated_manifest_of_a_step(stopped: Place) -> None:
    (manifest,) = stopped.folder.glob("store/runs/r/steps/000001/rollout/*/manifest.json")
    damage(manifest, manifest.read_bytes()[:99])
    words = r"file://\S+/manifest.json: no manifest of a step \(.*\); delete it to compute"
    stopped.refused(STEP.format("rollout", 1) + words, 1, latest=0)
    manifest.unlink()
    stopped.goes_on()


def test_weights_whose_digest_differs(stopped: Place) -> None:
    shutil.rmtree(stopped.folder / "store/runs/r/steps/000001/rollout")
    folder = stopped.state("r", 0).policies["solo"].uri.removeprefix("file://")
    weights = Path(folder) / "model.safetensors"
    good = weights.read_bytes()
    damage(weights, good[:-1] + bytes([good[-1] ^ 1]))
    words = rf"{weights}: sha256 expected \w{{64}}, got \w{{64}}"
    stopped.refused(STEP.format("rollout", 1) + words, 1, latest=0)
    damage(weights, good)
    stopped.goes_on()


def test_a_truncated_state(place: Place) -> None:
    assert place.call(*RUN) == 0
    state = place.folder / "store/runs/r/state/000001.json"
    good = state.read_bytes()
    damage(state, good[:60])
    place.capture.readouterr()
    assert place.call(*RUN, "--iterations", "2") == 1
    (line,) = place.capture.readouterr().err.splitlines()
    assert re.match(STEP.format("load_state", 2) + r"file://\S+/000001.json: not JSON: ", line)
    damage(state, good)
    assert place.call(*RUN, "--iterations", "2") == 0


def test_a_truncated_configuration_of_a_run(place: Place) -> None:
    assert place.call(*RUN) == 0
    path = place.folder / "store/runs/r/config.json"
    damage(path, path.read_bytes()[:60])
    place.refused(r"error: file://\S+/config.json: not the JSON of .*; delete it to bind", 2, 1)
    path.unlink()
    assert place.call(*RUN) == 0


@pytest.fixture
def small_disk(here: Path) -> Iterator[Callable[[int], Path]]:
    """Mounts `disk` with some KiB; called again, it grows the disk."""
    disk = here / "disk"

    def mount(kib: int) -> Path:
        word = f"remount,size={kib}k" if disk.exists() else f"size={kib}k"
        disk.mkdir(exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", word, "tmpfs", str(disk)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"a small disk cannot be mounted here: {done.stderr.strip()}")
        return disk

    yield mount
    subprocess.run(["umount", "-l", str(disk)], capture_output=True)


@pytest.mark.parametrize(
    ("kib", "step", "iteration", "latest"),
    [
        (8, "initialise", 0, None),
        pytest.param(100, "rollout", 1, 0, marks=FULL),
        pytest.param(200, "update", 1, 0, marks=FULL),
    ],
)
def test_a_full_disk_under_the_store(
    here: Path,
    make_place: Make,
    small_disk: Callable[[int], Path],
    kib: int,
    step: str,
    iteration: int,
    latest: int | None,
) -> None:
    uri = f"file://{small_disk(kib)}/store"
    place = make_place(storage={"uri": uri, "cache": f"{here}/cache"})
    words = rf"{here}/disk/store/\S+: the disk is full \(.*\); free space or move the store"
    place.refused(STEP.format(step, iteration) + words, 1, latest)
    small_disk(40_000)
    place.goes_on()


def test_a_full_disk_under_the_tracking_database(
    here: Path, make_place: Make, small_disk: Callable[[int], Path]
) -> None:
    uri = f"sqlite:///{small_disk(200)}/mlflow.db"
    place = make_place(tracking={"uri": uri})
    words = f"MLflow at {uri}: open failed: .*database or disk is full.*; check that the path can"
    place.refused(STEP.format("commit_initial", 0) + words, 1, latest=None)
    assert list((here / "disk").iterdir()) == []
    small_disk(40_000)
    place.goes_on()


@pytest.mark.parametrize(
    ("kib", "latest"),
    [(20, None), pytest.param(40, 0, marks=FULL), pytest.param(100, 0, marks=FULL)],
)
def test_a_full_disk_under_the_working_directory(
    here: Path,
    make_place: Make,
    small_disk: Callable[[int], Path],
    monkeypatch: pytest.MonkeyPatch,
    kib: int,
    latest: int | None,
) -> None:
    """Artifacts, compiled pipelines and logs."""
    disk = small_disk(kib)
    place = make_place()
    monkeypatch.chdir(disk)
    place.refused(rf"error: .*{disk}/build/runs\S*: the disk is full; ", 1, latest)
    small_disk(40_000)
    place.goes_on()
