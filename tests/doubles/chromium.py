"""A real Chromium without a window, driven over a pipe: what a page does, not what it says.

Chromium's own protocol, JSON between NUL bytes on file descriptors 3 and 4; no driver is needed.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
    "--disable-dev-shm-usage", "--disable-extensions", "--disable-background-networking",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--hide-scrollbars",
)  # fmt: skip


class Page:
    """One tab. `seen` gathers what a hostile page would do: dialogs, requests, errors."""

    def __init__(self, into: int, out: int) -> None:
        self.into, self.out = into, out
        self.rest = b""
        self.number = 0
        self.session: str | None = None
        self.seen: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> Any:
        """Send one command and wait for its answer; events that come in between are kept."""
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.into, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]
            self._event(answer)

    def open(self, url: str, width: int = 1280, height: int = 900, dark: bool = False) -> "Page":
        """Load an address and wait until it is loaded."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.seen.clear()
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete'", 90.0)
        return self

    def value(self, script: str) -> Any:
        """The value of a JavaScript expression, promises awaited."""
        done = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def wait(self, script: str, seconds: float = 60.0) -> None:
        """Until the expression is true; AssertionError when it takes too long."""
        wanted = (
            "new Promise((done) => { const end = performance.now() + %f; const look = () => {"
            " let met = false; try { met = Boolean(%s); } catch (error) {}"
            " if (met || performance.now() > end) done(met); else setTimeout(look, 15); };"
            " look(); })"
        )
        assert self.value(wanted % (seconds * 1000, script)), f"never true: {script}"

    def press(self, key: str) -> None:
        """One key, as a keyboard sends it."""
        text = {"text": key} if len(key) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, **text)

    def screenshot(self, path: Path, whole: bool = False) -> None:
        """The viewport, or the whole page, as PNG."""
        import base64

        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(data["data"]))

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self.rest:
            data = os.read(self.out, 1 << 20)
            assert data, "Chromium has ended"
            self.rest += data
        line, _, self.rest = self.rest.partition(b"\0")
        found: dict[str, Any] = json.loads(line)
        return found

    def _event(self, event: dict[str, Any]) -> None:
        method, params = event.get("method", ""), event.get("params", {})
        if method == "Page.javascriptDialogOpening":
            self.seen.append({"dialog": params["message"]})
            self.number += 1
            accept = {
                "id": self.number, "method": "Page.handleJavaScriptDialog",
                "params": {"accept": True}, "sessionId": self.session,
            }  # fmt: skip
            os.write(self.into, json.dumps(accept).encode() + b"\0")
        elif method == "Network.requestWillBeSent":
            if not params["request"]["url"].startswith(("data:", "blob:")):
                self.seen.append({"request": params["request"]["url"]})
        elif method == "Runtime.exceptionThrown":
            self.seen.append({"exception": params["exceptionDetails"]})
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.seen.append({"log": params["entry"]["text"]})


@contextmanager
def browser() -> Iterator[Page]:
    """A browser with one tab; it ends with the block."""
    assert PROGRAM is not None, "Chromium is not installed"
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        # A shell puts the pipes on descriptors 3 and 4, where Chromium expects them.
        script = f'exec "$0" "$@" 3<&{to_read} 4>&{from_write}'
        process = subprocess.Popen(
            ["bash", "-c", script, PROGRAM, *FLAGS, f"--user-data-dir={profile}"],
            pass_fds=(to_read, from_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_read)
        os.close(from_write)
        try:
            yield Page(to_write, from_read)
        finally:
            process.terminate()
            process.wait(20)
            os.close(to_write)
            os.close(from_read)


if __name__ == "__main__":  # python -m tests.doubles.chromium URL FILE WIDTH HEIGHT [dark] [whole]
    url, file, width, height, *how = sys.argv[1:]
    with browser() as page:
        page.open(url, int(width), int(height), dark="dark" in how)
        page.value("new Promise((done) => setTimeout(done, 2500))")
        page.screenshot(Path(file), whole="whole" in how)
        print(page.seen)
