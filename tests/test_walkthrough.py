"""The reader of pages is strict: what a page says is done, and compared."""

import re
import shlex
from pathlib import Path

import pytest

from components.config import load_config
from pipelines.__main__ import _parser
from tests.documents import blocks, commands
from tests.walkthrough import ROOT, Walk, shape

PAGES = ("laptop_to_cluster.md", "promote_and_serve.md", "promotion.md")
PAGE = """# A page

```text
# greeting.txt
hello ADDRESS
```

```bash
export NAME="a reader"      # yours
cat greeting.txt; echo "$NAME took 3 min 07 s, 12.5 %"
kubectl apply -f nothing.yaml         # needs a cluster
test -e \\
    missing                           # exit code 1
```

```text
hello ADDRESS
...
a reader took 41 s, 99 %
```
"""


def walk(folder: Path, text: str = PAGE, **replaced: str) -> Walk:
    """Through a page of this text."""
    (folder / "page.md").write_text(text)
    made = Walk(folder / "page.md", folder, replaced)
    made.through()
    return made


def test_a_page_is_followed(tmp_path: Path) -> None:
    walked = walk(tmp_path, ADDRESS="localhost")
    assert (tmp_path / "greeting.txt").read_text() == "hello localhost\n"
    assert walked.printed("cat") == "hello localhost\na reader took 3 min 07 s, 12.5 %\n"
    assert walked.left_out == ["kubectl apply -f nothing.yaml"]
    assert [command.code for command in walked.commands] == [0, 1]


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        ("# exit code 1", "", "test -e missing"),
        ("41 s, 99 %", "41 s, 99 points", "(?s)points.*not printed"),
        ("hello ADDRESS\n...", "hello\n...", "(?s)hello.*not printed"),
        ("hello ADDRESS\n...\na reader took 41 s, 99 %", "a reader took 41 s, 9 %\nhello ADDRESS",
         "(?s)hello.*not printed"),
        ("ADDRESS", "address", "has no .*ADDRESS"),
    ],
)  # fmt: skip
def test_what_is_not_as_the_page_says_is_a_fault(
    right: str, wrong: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(AssertionError, match=words):
        walk(tmp_path, PAGE.replace(right, wrong), ADDRESS="localhost")


def test_lines_differ_in_more_than_numbers() -> None:
    assert shape("scouts-1f3351de@3  +43.8 (9 won) in 2 min 09 s") == shape(
        "scouts-ab12cd34@7 -5 (12 won) in 41 s"
    )
    assert shape("3 won") != shape("3 lost")


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("page", PAGES)
def test_pages_use_options_that_there_are_and_lead_on(page: str) -> None:
    """What takes minutes to walk through is read in every run of the tests."""
    path = ROOT / "docs" / page
    lines = "\n".join(commands(path)).replace("\\\n", " ").splitlines()
    ours = [line for line in lines if line.startswith("python -m pipelines")]
    assert len(ours) >= 5
    for line in ours:
        assert _parser().parse_args(shlex.split(line, comments=True)[3:]).verb
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)]+)\)", path.read_text())]
    assert links and all((path.parent / link).exists() for link in links if "://" not in link)


@pytest.mark.parametrize(("page", "lines"), [("first_run.md", 1), ("laptop_to_cluster.md", 3)])
def test_pages_show_the_digest_of_their_file(tmp_path: Path, page: str, lines: int) -> None:
    """Numbers are apart when a page is followed; a reader compares this one."""
    path, shown = tmp_path / "experiment.yaml", 0
    for block in blocks(ROOT / "docs" / page):
        if block.language == "yaml" and re.match(r"# (my_runs/first|team)\.yaml", block.text):
            path.write_text((path.read_text() if path.exists() else "") + block.text)
        for line in re.findall(r"^ok    configuration +(.*)$", block.text, re.MULTILINE):
            config = load_config(path)
            assert line == f"{len(config.to_json())} bytes, digest {config.digest()[:8]}"
            shown += 1
    assert shown == lines
