"""vLLM's OpenAI-compatible server as a warm server needs it: one process, started by its keeper.

    python -m components.rollout.warm.process PLAN.json

Options are those of the engine that plays in a step's own process, so answers are the same.
Everything that decides when it ends is the keeper's.
"""

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from components.policies import FolderRef
from components.process import die_with_parent
from components.rollout.vllm_options import engine_options, vllm_environment, without_compiler
from components.rollout.warm.control import Warm
from components.settings import RolloutConfig, StorageConfig
from components.storage import open_store

NAME = "weights"
"""Model name of the full weights, whichever they are; adapters have names of their own."""
ENVIRONMENT = {
    "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1",
    "VLLM_SERVER_DEV_MODE": "0",
}


@dataclass(frozen=True)
class Plan:
    """What one server serves, and how."""

    storage: StorageConfig
    rollout: RolloutConfig
    folder: FolderRef
    """Weights to begin with: the frozen base, or a policy."""
    ranks: tuple[int, ...] = ()
    """Ranks of the adapters that are loaded side by side; none: full weights alone."""

    def to_json(self) -> str:
        """`from_json` is its inverse."""
        sections = {"storage": self.storage, "rollout": self.rollout}
        content: dict[str, Any] = {
            name: value.model_dump(mode="json") for name, value in sections.items()
        }
        content |= {"folder": asdict(self.folder), "ranks": list(self.ranks)}
        return json.dumps(content, sort_keys=True, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> "Plan":
        """A plan as the driver wrote it."""
        content = json.loads(text)
        return Plan(
            StorageConfig(**content["storage"]), RolloutConfig(**content["rollout"]),
            FolderRef(**content["folder"]), tuple(content["ranks"]),
        )  # fmt: skip


@dataclass(frozen=True)
class Seat:
    """Where the server sits."""

    host: str
    port: int
    key: str
    cache: str


def main(path: str) -> None:
    """Serve until told to end."""
    die_with_parent()
    content = json.loads(Path(path).read_text())
    serve(Plan.from_json(content["plan"]), Seat(**content["seat"]))


def serve(plan: Plan, seat: Seat) -> None:
    """Fetch the weights and serve them."""
    store, cache = open_store(plan.storage), Path(seat.cache)
    folder = store.download_folder(plan.folder, cache)
    warm = Warm(store, cache, seat.key, plan.folder.sha256, max_adapters=max(1, len(plan.ranks)))
    with vllm_environment(ENVIRONMENT), without_compiler():
        length = served_length(folder, plan.rollout)
        options = engine_options(folder, length, plan.rollout, plan.ranks, 1)
        arguments = _arguments(options, seat)
        arguments.warm = warm
        _run(arguments)


def served_length(folder: Path, settings: RolloutConfig) -> int:
    """Tokens of prompt and answer together, as in a step's own engine."""
    limit = int(json.loads((folder / "config.json").read_text())["max_position_embeddings"])
    return min(settings.max_prompt_tokens + settings.max_new_tokens, limit)


def _arguments(options: dict[str, Any], seat: Seat) -> Any:
    """vLLM's parsed command line."""
    from vllm.entrypoints.launchers.cli_args import make_arg_parser, validate_parsed_serve_args
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    words = [
        f"--host={seat.host}", f"--port={seat.port}", f"--served-model-name={NAME}",
        f"--api-key={seat.key}", "--middleware=components.rollout.warm.control.Control",
        "--worker-extension-cls=components.rollout.warm.worker.Worker",
        "--skip-tokenizer-init", "--disable-uvicorn-access-log", "--disable-fastapi-docs",
        "--uvicorn-log-level=warning", *_words(options),
    ]  # fmt: skip
    arguments = make_arg_parser(FlexibleArgumentParser()).parse_args(words)
    validate_parsed_serve_args(arguments)
    return arguments


def _words(options: dict[str, Any]) -> list[str]:
    """Engine options as vLLM's command line spells them."""
    words = []
    for name, value in options.items():
        option = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{option}" if value else f"--no-{option}")
        elif value is not None:
            words.append(f"--{option}={value}")
    return words


def _run(arguments: Any) -> None:
    import uvloop
    from vllm.entrypoints.launchers.api_server.entry import run_server

    uvloop.run(run_server(arguments))


if __name__ == "__main__":
    main(sys.argv[1])
