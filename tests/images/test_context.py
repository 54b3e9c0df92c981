"""What a build may see: pip's settings become variables for it, nothing of this disk is named."""

from pathlib import Path

from images.context import INSIDE, make_context, parse_settings, write_pip_settings


def settings_of(folder: Path) -> dict[str, str]:
    lines = (folder / "environment").read_text().splitlines()
    pairs = (line.removeprefix("export ").partition("=") for line in lines)
    return {name: value.strip("'") for name, _, value in pairs}


def test_environment_variables_win_over_files() -> None:
    lines = [":env:.index-url='https://env.example'", "global.index-url='https://file.example'"]
    assert parse_settings(lines)["index-url"] == "https://env.example"
    assert parse_settings(lines[1:])["index-url"] == "https://file.example"


def test_indexes_reach_pip_and_uv_without_those_on_this_disk(tmp_path: Path) -> None:
    write_pip_settings(
        tmp_path / "pip",
        {
            "index-url": "https://index.example/simple",
            "extra-index-url": "file:///packages/simple https://more.example/simple",
            "trusted-host": "index.example",
        },
    )
    found = settings_of(tmp_path / "pip")
    assert found["PIP_INDEX_URL"] == found["UV_DEFAULT_INDEX"] == "https://index.example/simple"
    assert found["PIP_EXTRA_INDEX_URL"] == found["UV_INDEX"] == "https://more.example/simple"
    assert found["PIP_TRUSTED_HOST"] == "index.example"


def test_torch_and_certificates_are_copied(tmp_path: Path) -> None:
    wheels, cert = tmp_path / "wheels", tmp_path / "own.pem"
    wheels.mkdir()
    for name in ("torch-2.13.0+cpu-cp311-cp311-x.whl", "torch-2.14.1-cp311-cp311-x.whl"):
        (wheels / name).touch()
    cert.write_text("authority")
    places = f"{wheels} https://wheels.example/torch"
    write_pip_settings(tmp_path / "pip", {"find-links": places, "cert": str(cert)})
    found = settings_of(tmp_path / "pip")
    assert [path.name for path in (tmp_path / "pip/wheels").iterdir()] == [
        "torch-2.13.0+cpu-cp311-cp311-x.whl"
    ]
    assert found["PIP_FIND_LINKS"] == f"{INSIDE}/wheels https://wheels.example/torch"
    assert found["UV_FIND_LINKS"] == f"{INSIDE}/wheels,https://wheels.example/torch"
    assert (tmp_path / "pip/authorities.pem").read_text() == "authority"
    assert found["SSL_CERT_FILE"] == f"{INSIDE}/authorities.pem"
    assert str(tmp_path) not in (tmp_path / "pip/environment").read_text()


def test_context_holds_the_committed_code_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "context").mkdir()
    (tmp_path / "context/stale").touch()
    context = make_context(tmp_path / "context")
    assert {path.name for path in context.iterdir()} == {
        ".dockerignore", "components", "envs", "images", "pipelines", "pip",
    }  # fmt: skip
    assert (context / "images/Dockerfile").exists()
    assert not list(context.rglob("__pycache__"))
