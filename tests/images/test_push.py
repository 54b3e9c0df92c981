"""Pushing: what is printed is what the compiler takes; refusals are one sentence."""

from pathlib import Path

import pytest

from images.push import main
from pipelines.compiling import open_profile
from pipelines.pinning import check_images, read_images, with_images
from pipelines.profile import RUNTIMES
from tests.images.fake_docker import FakeDocker


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    return FakeDocker(tmp_path, monkeypatch)


def test_digests_are_what_a_cluster_profile_demands(
    docker: FakeDocker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--registry", "registry.example/team/"]) == 0
    (tmp_path / "images.yaml").write_text(capsys.readouterr().out)
    images = read_images(tmp_path / "images.yaml")
    check_images(with_images(open_profile("single-gpu"), images), RUNTIMES.values())
    assert images["vllm"].startswith("registry.example/team/rolewise/vllm@sha256:")
    assert len(set(images.values())) == 4


def test_gpu_variant_is_another_tag_of_the_same_repository(docker: FakeDocker) -> None:
    main(["--registry", "r", "--variant", "gpu", "--tag", "7", "--only", "vllm", "cpu"])
    pushed = [words[1] for words in docker.commands if words[0] == "push"]
    assert pushed == ["r/rolewise/vllm:7-gpu", "r/rolewise/cpu:7"]


def test_without_a_registry(docker: FakeDocker, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    printed = capsys.readouterr()
    assert "make push REGISTRY=HOST/PATH" in printed.err
    assert printed.out == "" and not docker.log.exists()


@pytest.mark.parametrize(
    ("verb", "words"),
    [
        ("push", "docker push r/rolewise/cpu:7: denied: requested access to the resource"),
        ("tag", "docker tag rolewise/cpu:7 r/rolewise/cpu:7: denied"),
    ],
)
def test_docker_refuses(
    docker: FakeDocker, capsys: pytest.CaptureFixture[str], verb: str, words: str
) -> None:
    docker.fails_at(verb)
    assert main(["--registry", "r", "--tag", "7"]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith(f"error: {words}") and printed.out == ""
    assert ("`make images` builds it" in printed.err) == (verb == "tag")


def test_without_docker(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["--registry", "r"]) == 2
    assert "'docker' is missing" in capsys.readouterr().err
