"""README.md tells the truth about the tree, and every file and command it names exists."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_the_tree_is_the_tree() -> None:
    code = "from docs.tree import in_readme, tree; raise SystemExit(in_readme() != tree())"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT)
    assert done.returncode == 0, "run: python docs/tree.py --write"


def test_files_that_it_links_exist() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert len(links) > 5
    missing = [link for link in links if "://" not in link and not (ROOT / link).exists()]
    assert not missing


def test_make_targets_that_it_names_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    named = set(re.findall(r"(?:^|`)make ([a-z][a-z0-9-]*)", README, re.MULTILINE))
    assert {"demo", "test"} <= named
    assert all(re.search(rf"^{name}:", makefile, re.MULTILINE) for name in named)
