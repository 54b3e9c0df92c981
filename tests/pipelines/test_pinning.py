"""Images by digest: where they come from, and what is refused."""

from pathlib import Path

import pytest

from components.errors import ConfigError
from pipelines.compiling import open_profile
from pipelines.pinning import check_images, parse_images, read_images, with_images
from tests.pipelines.experiment import DIGEST, IMAGES


def test_a_file_and_words_fill_a_profile(tmp_path: Path) -> None:
    path = tmp_path / "images.yaml"
    path.write_text("".join(f"{name}: {image}\n" for name, image in IMAGES.items()))
    word = f"vllm=registry:5000/mine@sha256:{DIGEST}"
    profile = with_images(open_profile("8xh100"), read_images(path) | parse_images([word]))
    check_images(profile, list(IMAGES))
    assert profile.images["vllm"] == f"registry:5000/mine@sha256:{DIGEST}"
    assert profile.images["cpu"] == IMAGES["cpu"]


def test_missing_images_are_named_with_the_fix() -> None:
    words = r"8xh100: no image for vllm, deepspeed; expected .*make push.* --set-image vllm="
    with pytest.raises(ConfigError, match=words):
        check_images(with_images(open_profile("8xh100"), {"cpu": IMAGES["cpu"]}))


@pytest.mark.parametrize(
    "image", ["r/vllm", "r/vllm:1.0", "r/vllm@sha256:123", f"r/vllm:1@sha256:{DIGEST[:-1]}g"]
)
def test_an_image_that_can_change_is_refused(image: str) -> None:
    words = f"single-gpu: vllm is '{image}', which can change; expected repository@sha256"
    with pytest.raises(ConfigError, match=words):
        check_images(with_images(open_profile("single-gpu"), IMAGES | {"vllm": image}))


def test_the_cpu_profile_takes_tags() -> None:
    check_images(with_images(open_profile("cpu"), {"vllm": "mine:latest"}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tpu: a@sha256:1\n", r"runtimes \['tpu'\] are unknown; known: cpu, deepspeed, driver, vl"),
        ("- a\n", "expected lines of `runtime: repository@sha256:...`"),
        ("cpu: 1\n", "expected lines of `runtime: repository@sha256:...`"),
        ("a: [", "not YAML"),
        (None, "cannot be read: No such file"),
    ],
)
def test_a_wrong_file_is_named(tmp_path: Path, text: str | None, message: str) -> None:
    path = tmp_path / "images.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ConfigError, match=f"--images {path}: {message}"):
        read_images(path)


@pytest.mark.parametrize("word", ["vllm", "vllm=", "tpu=a"])
def test_a_wrong_word_is_named(word: str) -> None:
    with pytest.raises(ConfigError, match=f"--set-image '{word}': (expected|runtimes)"):
        parse_images([word])
