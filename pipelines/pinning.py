"""Images by digest: what a profile for clusters demands, and how a user supplies it.

A tag can be moved, and Kubeflow's cache and MLflow's record would not see it; a digest cannot.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import yaml

from components.errors import ConfigError
from pipelines.profile import RUNTIMES, Profile

STEP_RUNTIMES = ("cpu", "vllm", "deepspeed")
"""What every pipeline's images are for; `driver` is needed by the pipeline `training` alone."""
_DIGEST = re.compile(r"[^\s@]+@sha256:[0-9a-f]{64}")
_EXPECTED = "expected repository@sha256:<64 hex digits>"
_FIX = "`make push` prints the digests: --images FILE, or --set-image {}=repository@sha256:..."


def read_images(path: str | Path) -> dict[str, str]:
    """A YAML file of runtime -> image, as `make push` prints it. ConfigError names the fault."""
    try:
        content = yaml.safe_load(Path(path).read_text())
    except OSError as error:
        raise ConfigError(f"--images {path}: cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"--images {path}: not YAML: {reason}") from error
    if not isinstance(content, dict) or not all(isinstance(v, str) for v in content.values()):
        raise ConfigError(f"--images {path}: expected lines of `runtime: repository@sha256:...`")
    return _known(f"--images {path}", content)


def parse_images(words: Sequence[str]) -> dict[str, str]:
    """`vllm=repository@sha256:...` for each word."""
    images: dict[str, str] = {}
    for word in words:
        runtime, separator, image = word.partition("=")
        if not separator or not image:
            raise ConfigError(f"--set-image {word!r}: expected runtime=repository@sha256:...")
        images |= _known(f"--set-image {word!r}", {runtime: image})
    return images


def with_images(profile: Profile, images: Mapping[str, str]) -> Profile:
    """The profile with these images in the place of its own."""
    return profile.model_copy(update={"images": {**profile.images, **images}})


def check_images(profile: Profile, runtimes: Collection[str] = STEP_RUNTIMES) -> None:
    """ConfigError if a runtime has no image or, in a pinned profile, one that can change."""
    missing = [name for name in runtimes if name not in profile.images]
    if missing:
        raise ConfigError(
            f"profile {profile.name}: no image for {', '.join(missing)}; {_EXPECTED}; "
            f"{_FIX.format(missing[0])}"
        )
    images = {name: profile.images[name] for name in runtimes}
    loose = {name: image for name, image in images.items() if not _DIGEST.fullmatch(image)}
    if profile.pinned and loose:
        found = ", ".join(f"{name} is {image!r}" for name, image in loose.items())
        raise ConfigError(
            f"profile {profile.name}: {found}, which can change; {_EXPECTED}; "
            f"{_FIX.format(next(iter(loose)))}"
        )


def _known(source: str, images: Mapping[str, str]) -> dict[str, str]:
    unknown = sorted(set(map(str, images)) - set(RUNTIMES.values()))
    if unknown:
        raise ConfigError(f"{source}: runtimes {unknown} are unknown; known: {_names()}")
    return dict(images)


def _names() -> str:
    return ", ".join(sorted(RUNTIMES.values()))
