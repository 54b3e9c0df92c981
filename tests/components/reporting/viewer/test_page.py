"""The viewer in a real Chromium: what it shows, and that nothing a model wrote ever runs."""

from pathlib import Path
from typing import Any

import pytest

from components.reporting.viewer.page import Source, write_page
from envs.base import Status
from tests.components.reporting.viewer.rows import make_episode, make_group, make_table
from tests.doubles.chromium import Page

READY = "document.querySelector('#episode .tree')"
HOSTILE = (
    "<script>window.hit=1</script>", "</script><script>window.hit=1</script>",
    "<img src=x onerror=window.hit=1>", "<svg/onload=window.hit=1>",
    "\" onmouseover=\"window.hit=1",
    "<iframe srcdoc='<script>parent.hit=1</script>'>", "javascript:window.hit=1", "<!--", "]]>",
    "<style>*{display:none}</style>", "<base href=http://evil.test/>", "${window.hit=1}",
    "<meta http-equiv=refresh content='0;url=http://evil.test/'>", "<a href=javascript:hit=1>x</a>",
    "\x1b[31mred\x1b[0m\x1b]0;title\x07", "safe\u202egnp.exe\u202c", "nul\x00end",
    "zero\u200bwidth",
    "\u2066iso\u2069", "\U000e0041tag", "x\x85y\rz", "&lt;b&gt;&#x3c;script&#x3e;", "\ufffd\ufeff",
)  # fmt: skip


def write(tmp_path: Path, *sources: Source, roles: tuple[str, ...] = ("tool", "planner")) -> str:
    path = tmp_path / "page.html"
    with path.open("w", encoding="utf-8") as file:
        write_page(file, "a run", roles, sources, back="report.html")
    return path.as_uri()


def training(*groups: Any, episodes: Any = None, iteration: int = 3) -> Source:
    return Source(iteration, "training", make_table(*groups), episodes or [make_episode()])


def texts(page: Page, selector: str) -> list[str]:
    found: list[str] = page.value(
        f"[...document.querySelectorAll({selector!r})].map((node) => node.textContent)"
    )
    return found


def choose(page: Page, control: str, value: str) -> str:
    """Set a control; returns what the count line says then."""
    page.value(
        f"(() => {{ const node = document.getElementById('{control}'); node.value = {value!r};"
        " node.dispatchEvent(new Event(node.type === 'search' ? 'input' : 'change',"
        " {bubbles: true})); })()"
    )
    page.value("new Promise((done) => setTimeout(done, 200))")
    return texts(page, "#count")[0]


def test_nothing_that_a_model_wrote_runs_and_all_of_it_is_shown(page: Page, tmp_path: Path) -> None:
    every = "\n".join(HOSTILE)
    group = make_group(
        HOSTILE[1], 0, HOSTILE[2], HOSTILE[14], tuple(float(k) for k in range(len(HOSTILE))),
        HOSTILE, prompt=every, version=HOSTILE[3],
    )  # fmt: skip
    group += make_group(HOSTILE[1], 1, HOSTILE[2], rewards=(None, 1.0), prompt=every + "\nnew")
    source = Source(3, HOSTILE[1], make_table(group), [make_episode(HOSTILE[1], HOSTILE[0])])
    page.open(write(tmp_path, source, roles=(HOSTILE[2],)))
    page.wait(READY)
    page.press("t")
    page.wait("document.querySelectorAll('.token').length >= 40")
    assert page.value("window.hit === undefined && document.title === 'a run'")
    assert [seen for seen in page.seen if "request" not in seen] == []
    assert len(page.seen) == 1  # the page itself
    assert page.value(
        "document.querySelectorAll('main script, main img, main iframe, main style, main a,"
        " main base, main meta').length === 0 &&"
        " [...document.querySelectorAll('main *')].every((node) =>"
        " [...node.attributes].every((item) => !item.name.startsWith('on')))"
    )
    shown = texts(page, "article .answer pre")
    assert shown[:14] == list(HOSTILE[:14])
    assert shown[14] == "␛[31mred␛[0m␛]0;title␇"
    assert shown[15:19] == [
        "safeU+202Egnp.exeU+202C",
        "nul␀end",
        "zeroU+200Bwidth",
        "U+2066isoU+2069",
    ]
    assert shown[19:23] == ["U+E0041tag", "xU+0085y␍z", HOSTILE[21], "\ufffdU+FEFF"]
    assert "engine: gone" in texts(page, ".answer .bad")[0]


def test_an_answer_of_a_megabyte_is_shown_on_demand(page: Page, tmp_path: Path) -> None:
    long = "<b>" * 349_526
    page.open(write(tmp_path, training(make_group(texts=(long, "short"), prompt=long))))
    page.wait(READY)
    assert [len(text) for text in texts(page, ".answer pre")] == [4000, 5]
    assert page.value("document.querySelectorAll('main b').length") == 0
    page.value("document.querySelector('.answer .more').click()")
    assert texts(page, ".answer pre")[0] == long


def test_a_policy_forbids_everything_else(page: Page, tmp_path: Path) -> None:
    page.open(write(tmp_path, training(make_group())))
    page.wait(READY)
    page.value(
        "(() => { const node = document.createElement('script');"
        " node.textContent = 'window.hit = 1'; document.body.append(node);"
        " document.body.insertAdjacentHTML('beforeend',"
        " '<img src=x onerror=window.hit=1><img src=http://127.0.0.1:9/x>'); })()"
    )
    page.value("new Promise((done) => setTimeout(done, 150))")
    assert page.value("window.hit === undefined")
    assert any("Content Security Policy" in str(seen.get("log")) for seen in page.seen)


def many(tmp_path: Path) -> str:
    """Six episodes: 0-2 solved, 3-5 not; the tool of 1 and 4 has no variance, 5 is a surprise."""
    groups, episodes = [], []
    for i in range(6):
        name = f"t/{i}"
        rewards = (1.0, 1.0) if i in (1, 4) else (0.0, 5.0) if i == 5 else (0.0, 1.0)
        groups.append(make_group(name, rewards=rewards, prompt=f"prompt {i}"))
        logprobs = (-1.0, -9.0) if i == 2 else (-1.0, -1.0)
        groups.append(make_group(name, 0, "planner", "1", logprobs=logprobs, status=Status.SOLVED))
        status = "solved" if i < 3 else "out_of_turns"
        episodes.append(make_episode(name, status, team_reward=float(i), num_turns=1 + i % 3))
    return write(tmp_path, training(*groups, episodes=episodes))


def listed(page: Page) -> list[str]:
    return [text.removeprefix("t/") for text in texts(page, "#list .name")]


def test_filters_orders_and_search(page: Page, tmp_path: Path) -> None:
    page.open(many(tmp_path))
    page.wait(READY)
    assert listed(page) == list("012345")
    assert choose(page, "outcome", "solved") == "3 of 6 episodes" and listed(page) == list("012")
    choose(page, "outcome", "any")
    assert choose(page, "groups", "silent") == "2 of 6 episodes" and listed(page) == list("14")
    choose(page, "role", "planner")
    assert choose(page, "groups", "silent") == "0 of 6 episodes"
    assert "No episode fits" in texts(page, "#episode")[0]
    choose(page, "role", "any")
    choose(page, "groups", "any")
    choose(page, "order", "far")
    assert listed(page)[0] == "5"
    choose(page, "order", "unlikely")
    assert listed(page)[0] == "2"
    choose(page, "order", "turns")
    assert listed(page) == list("251403")
    choose(page, "order", "played")
    assert choose(page, "search", "t/4") == "1 of 6 episodes"
    assert choose(page, "search", "PROMPT 3") == "0 of 6 episodes"
    page.value("document.getElementById('texts').click()")
    page.wait("document.getElementById('count').textContent === '1 of 6 episodes'")
    assert listed(page) == ["3"]


def test_the_keyboard_is_enough(page: Page, tmp_path: Path) -> None:
    page.open(many(tmp_path))
    page.wait(READY)
    page.value("document.getElementById('list').focus()")
    page.press("j")
    page.press("ArrowDown")
    page.wait("document.querySelector('#episode .note').textContent === 't/2'")
    assert (
        page.value("document.getElementById('list').getAttribute('aria-activedescendant')") == "e2"
    )
    page.press("n")
    page.press("n")
    assert "planner" in page.value("document.activeElement.getAttribute('aria-label')")
    page.press("t")
    page.wait("document.querySelectorAll('.token-line').length === 4")
    page.press("/")
    assert page.value("document.activeElement.id") == "search"
    page.press("Escape")
    assert page.value("document.activeElement.id") == "list"
    page.press("?")
    assert page.value("document.getElementById('keys').open")


def test_an_address_leads_to_an_episode(page: Page, tmp_path: Path) -> None:
    page.open("about:blank")
    page.open(many(tmp_path) + "#e=t%2F4&order=turns")
    page.wait("document.querySelector('#episode .note')?.textContent === 't/4'")
    assert page.value("document.getElementById('order').value") == "turns"


def test_an_address_that_asks_for_what_is_not_here_is_told_so(page: Page, tmp_path: Path) -> None:
    page.open("about:blank")
    page.open(many(tmp_path) + "#outcome=won&role=tool")
    told = "; the address asks for outcome=won, which is not here"
    page.wait(f"document.getElementById('count').textContent.endsWith({told!r})")
    assert state(page)["outcome"] == "any" and state(page)["role"] == "tool"
    assert "asks for" not in choose(page, "outcome", "solved")


def state(page: Page) -> dict[str, str]:
    """What is chosen and seen."""
    controls = ("source", "outcome", "role", "groups", "change", "order", "search")
    found = {name: page.value(f"document.getElementById('{name}').value") for name in controls}
    chosen = texts(page, "#list [aria-selected=true] .name")
    return found | {
        "texts": page.value("document.getElementById('texts').checked"), "list": listed(page),
        "chosen": chosen, "shown": texts(page, "#episode .note")[:1],
    }  # fmt: skip


def address(page: Page) -> str:
    """Once it has come to rest."""
    page.value("new Promise((done) => setTimeout(done, 300))")
    return str(page.value("location.href"))


def test_an_address_brings_back_filters_order_and_episode(page: Page, tmp_path: Path) -> None:
    page.open(many(tmp_path))
    page.wait(READY)
    first = state(page)
    choose(page, "outcome", "solved")
    choose(page, "role", "tool")
    choose(page, "groups", "signal")
    choose(page, "order", "turns")
    page.value("document.getElementById('list').focus()")
    page.press("j")
    page.wait("document.querySelector('#episode .note').textContent === 't/0'")
    sent, seen = address(page), state(page)
    assert seen["list"] == ["2", "0"] and seen["chosen"] == seen["shown"] == ["t/0"]
    choices = "outcome=solved&role=tool&groups=signal&order=turns"
    assert sent.partition("#")[2] == f"e=t%2F0&source=0&{choices}"
    page.open("about:blank")
    page.open(sent)
    page.wait("document.querySelector('#episode .note')?.textContent === 't/0'")
    assert (state(page), address(page)) == (seen, sent)
    page.open(sent.partition("#")[0] + "#e=t%2F0")  # the same page: filters are not left over
    page.wait("document.getElementById('count').textContent === '6 of 6 episodes'")
    assert state(page) == first and first["list"] == list("012345")


def test_an_address_brings_back_a_search_in_texts(page: Page, tmp_path: Path) -> None:
    page.open(many(tmp_path))
    page.wait(READY)
    page.value("document.getElementById('texts').click()")
    assert choose(page, "search", "PROMPT 3&e=t/1#<b>") == "0 of 6 episodes"
    nothing = address(page)
    assert choose(page, "search", "PROMPT 3") == "1 of 6 episodes"
    sent = address(page)
    assert sent.partition("#")[2] == "e=t%2F3&source=0&search=PROMPT+3&texts=1"
    page.open("about:blank")
    page.open(sent)
    page.wait("document.querySelector('#episode .note')?.textContent === 't/3'")
    assert listed(page) == ["3"]
    page.open(nothing)
    page.wait("document.getElementById('count').textContent === '0 of 6 episodes'")
    assert page.value("document.getElementById('search').value") == "PROMPT 3&e=t/1#<b>"
    assert page.value("document.querySelectorAll('main b').length") == 0


def test_a_place_in_the_page_is_no_choice(page: Page, tmp_path: Path) -> None:
    page.open(many(tmp_path))
    page.wait(READY)
    choose(page, "outcome", "solved")
    seen = state(page)
    page.value("document.querySelector('.skip').click()")
    assert "&outcome=solved" in address(page) and state(page) == seen
    assert page.value("document.activeElement.id") == "episode"


def test_a_held_key_is_one_address(page: Page, tmp_path: Path) -> None:
    """Browsers refuse, some by an exception, many new addresses in a short time."""
    page.open(many(tmp_path))
    page.wait(READY)
    address(page)
    page.value(
        "(() => { window.made = 0; const replace = history.replaceState.bind(history);"
        " history.replaceState = (...all) => { window.made += 1; replace(...all); };"
        " document.getElementById('list').focus(); for (let i = 0; i < 300; i++)"
        " document.getElementById('list').dispatchEvent(new KeyboardEvent('keydown',"
        " {key: i % 2 ? 'k' : 'j', bubbles: true})); })()"
    )
    address(page)
    assert page.value("window.made") == 1


def test_the_same_tasks_of_two_iterations_side_by_side(page: Page, tmp_path: Path) -> None:
    names = ("t/0", "t/1", "t/2")
    sources = [
        training(
            *(make_group(name, prompt=f"in {iteration}") for name in names[: len(ends)]),
            episodes=[make_episode(*pair) for pair in zip(names, ends, strict=False)],
            iteration=iteration,
        )
        for iteration, ends in ((3, ("solved", "solved", "failed")), (1, ("solved", "failed")))
    ]
    page.open(write(tmp_path, *sources))
    page.wait("document.querySelectorAll('#episode .tree').length === 2")
    assert texts(page, "#episode h2") == [
        "Iteration 3, training solved",
        "Iteration 1, training solved",
    ]
    assert [t for t in texts(page, "#episode pre") if t.startswith("in")] == ["in 3", "in 1"]
    assert choose(page, "change", "gained") == "1 of 3 episodes" and listed(page) == ["1"]
    assert choose(page, "change", "any") == "3 of 3 episodes"


def test_what_is_new_in_a_prompt_is_marked(page: Page, tmp_path: Path) -> None:
    first, second = "walls a1 b2\nat c3", "walls a1 b2\nat c3 route d4\nthe tool said: hit"
    page.open(
        write(tmp_path, training(make_group(prompt=first), make_group(turn=1, prompt=second)))
    )
    page.wait(READY)
    assert texts(page, "mark") == [" route d4", "the tool said: hit"]


@pytest.mark.full
def test_ten_thousand_episodes_stay_usable(page: Page, tmp_path: Path) -> None:
    names = [f"t/{i}" for i in range(10_000)]
    groups = [
        make_group(name, rewards=(0.0, i % 7.0), prompt="go " * 40) for i, name in enumerate(names)
    ]
    episodes = [make_episode(n, "solved" if i % 3 else "failed") for i, n in enumerate(names)]
    page.open(write(tmp_path, training(*groups, episodes=episodes)))
    page.wait(READY, 60)
    assert page.value("document.querySelectorAll('*').length") < 1000
    for control, value in (("outcome", "failed"), ("order", "far"), ("search", "77")):
        script = (
            "new Promise((done) => {"
            " const seen = () => document.getElementById('left').textContent;"
            f" const node = document.getElementById('{control}'), before = seen(),"
            f" begun = performance.now(); node.value = '{value}'; node.dispatchEvent("
            " new Event(node.type === 'search' ? 'input' : 'change', {bubbles: true}));"
            " const look = () => seen() !== before ? done(performance.now() - begun)"
            " : setTimeout(look, 5); look(); })"
        )
        assert page.value(script) < 1000
    page.wait("location.hash.endsWith('&outcome=failed&order=far&search=77')")
    seen = state(page)
    assert seen["chosen"] == seen["shown"] and "77" in seen["chosen"][0]
    sent = page.value("location.href")
    page.open("about:blank")
    page.open(sent)
    page.wait(READY, 60)
    assert state(page) == seen
