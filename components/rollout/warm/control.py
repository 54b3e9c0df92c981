"""What a warm server answers besides vLLM's own: fetch a folder, take other weights, say which.

A middleware around vLLM's application (`--middleware`), so vLLM's development endpoints stay shut.
A request to complete may name the weights that it expects; if others are loaded it is refused.

    GET  /warm/state                    {"weights": sha256, "num_loads": n}
    POST /warm/fetch    FolderRef       {"folder": path}    for /v1/load_lora_adapter
    POST /warm/weights  FolderRef       {"weights": sha256, "seconds": s}
"""

import asyncio
import hmac
import json
import re
import shutil
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from components.policies import FolderRef
from components.storage import Store

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
PREFIX = "/warm/"
EXPECTED = "x-warm-weights"
"""Header of a completion request: the digest of the full weights that it is meant for."""


@dataclass
class Warm:
    """What the process that starts vLLM hands to the middleware, as `args.warm`."""

    store: Store
    cache: Path
    """Of this server alone: what is not in use is removed."""
    key: str
    """Bearer token of every call."""
    weights: str
    """Digest of the folder that vLLM has loaded."""
    num_loads: int = 0
    adapters: list[str] = field(default_factory=list)
    """Digests of the adapters fetched last; older ones leave the cache."""
    max_adapters: int = 1
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    prepared: bool = False


class Control:
    """The middleware."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer our own paths; pass on everything else that may pass."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        warm: Warm = scope["app"].state.args.warm
        headers = {name.decode().lower(): value.decode() for name, value in scope["headers"]}
        path = str(scope["path"])
        if not path.startswith(PREFIX):
            expected = headers.get(EXPECTED, warm.weights)
            if expected != warm.weights:
                await _send(send, 409, {"error": f"the weights are {warm.weights or 'none'}"})
            else:
                await self._app(scope, receive, send)
            return
        if not hmac.compare_digest(headers.get("authorization", ""), f"Bearer {warm.key}"):
            return await _send(send, 401, {"error": "the bearer token is wrong"})
        try:
            body = await _body(receive)
            answer = await _answer(warm, scope["app"].state.engine_client, path, body)
        except Exception as error:  # whatever it is, the step that asked reports it
            text = " ".join(f"{type(error).__name__}: {error}".split())
            return await _send(send, 500, {"error": text})
        await _send(send, 404 if answer is None else 200, answer or {"error": f"no {path}"})


async def _answer(warm: Warm, engine: Any, path: str, body: bytes) -> dict[str, Any] | None:
    async with warm.lock:
        if not warm.prepared:
            await engine.collective_rpc("warm_prepare")
            warm.prepared = True
        if path == f"{PREFIX}state":
            return {"weights": warm.weights, "num_loads": warm.num_loads}
        if path == f"{PREFIX}fetch":
            return {"folder": str(await _fetch_adapter(warm, FolderRef(**json.loads(body))))}
        if path == f"{PREFIX}weights":
            return await _load(warm, engine, FolderRef(**json.loads(body)))
    return None


async def _fetch_adapter(warm: Warm, ref: FolderRef) -> Path:
    """The adapter's folder on this machine; those fetched long ago are removed."""
    warm.adapters = [digest for digest in warm.adapters if digest != ref.sha256] + [ref.sha256]
    warm.adapters = warm.adapters[-2 * warm.max_adapters :]
    folder = await asyncio.to_thread(warm.store.download_folder, ref, warm.cache)
    _prune(warm)
    return folder


async def _load(warm: Warm, engine: Any, ref: FolderRef) -> dict[str, Any]:
    """Load full weights in place. Until it is done, nothing is answered with half of them."""
    begun = time.perf_counter()
    folder = await asyncio.to_thread(warm.store.download_folder, ref, warm.cache)
    warm.weights = ""  # whatever happens next, the old weights are no longer whole
    await engine.pause_generation(mode="wait")
    await engine.collective_rpc("warm_load", args=(str(folder),))
    if not await engine.reset_prefix_cache():
        raise RuntimeError("vLLM refused to forget its cached prompts")
    await engine.resume_generation()
    warm.weights = ref.sha256
    warm.num_loads += 1
    _prune(warm)
    return {"weights": warm.weights, "seconds": time.perf_counter() - begun}


def _prune(warm: Warm) -> None:
    """Remove the folders that are loaded no longer."""
    used = {warm.weights, *warm.adapters}
    for folder in warm.cache.iterdir() if warm.cache.is_dir() else ():
        if folder.name not in used and re.fullmatch(r"[0-9a-f]{64}", folder.name):
            shutil.rmtree(folder, ignore_errors=True)


async def _body(receive: Receive) -> bytes:
    data, more = b"", True
    while more:
        message = await receive()
        data += message.get("body", b"")
        more = bool(message.get("more_body"))
    return data


async def _send(send: Send, status: int, content: dict[str, Any]) -> None:
    data = json.dumps(content).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(data)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": data})
