"""Asking a team for its answers: engines of this process, or servers, as any client asks them."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from components.engine import Engine, FinishReason, Request, Sampling
from components.errors import RolewiseError
from components.rollout.server_client import ServerClient
from envs.base import Message


class Team(Protocol):
    """Whoever answers for all roles."""

    def answer(self, role: str, messages: Sequence[Message]) -> str:
        """The role's greedy answer. RolewiseError if there is none."""
        ...


class EngineTeam:
    """Answers of an engine that holds the team's weights."""

    def __init__(self, engine: Engine, roles: Mapping[str, str], sampling: Sampling) -> None:
        """`roles`: role -> policy."""
        self._engine, self._roles, self._sampling = engine, roles, sampling

    def answer(self, role: str, messages: Sequence[Message]) -> str:
        """See Team."""
        request = Request(role, self._roles[role], tuple(messages), (0,))
        (completion,) = self._engine.generate([request], 1, self._sampling)
        if completion.finish_reason is FinishReason.ERROR:
            raise RolewiseError(f"{role} has no answer: {completion.error}")
        return completion.text


class ServedTeam:
    """Answers of OpenAI-compatible servers, which know the roles by name and have the template."""

    def __init__(
        self, urls: Sequence[str], roles: Sequence[str], sampling: Sampling, key: str | None = None
    ) -> None:
        """Ask every server whom it plays. RolewiseError if nobody plays one of the roles."""
        self._sampling, self._clients = sampling, {}
        known: dict[str, ServerClient] = {}
        for url in urls:
            if not url.startswith(("http://", "https://")):
                raise RolewiseError(f"--endpoint {url!r}: expected http(s)://host:port")
            client = ServerClient(url.rstrip("/").removesuffix("/v1"), key, timeout_s=120.0)
            known |= dict.fromkeys(client.models(), client)
        for role in roles:
            if role not in known:
                raise RolewiseError(
                    f"no server plays {role!r}: {', '.join(urls)} know {sorted(known)}; name the "
                    "server of every role with --endpoint"
                )
            self._clients[role] = known[role]

    def answer(self, role: str, messages: Sequence[Message]) -> str:
        """See Team."""
        body = {
            "model": role, "messages": [dict(message) for message in messages],
            "temperature": self._sampling.temperature, "max_tokens": self._sampling.max_new_tokens,
            "top_p": self._sampling.top_p, "seed": 0,
        }  # fmt: skip
        found: Any = self._clients[role].post("/v1/chat/completions", body)
        try:
            return str(found["choices"][0]["message"]["content"] or "")
        except (LookupError, TypeError) as error:
            raise RolewiseError(
                f"{role}: not an answer of a chat server: {found!r:.200}"
            ) from error
