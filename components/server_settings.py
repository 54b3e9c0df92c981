"""The section `rollout.server`: vLLM servers that outlive a step; see docs/warm_servers.md."""

from typing import Annotated

from pydantic import Field, model_validator

from components.section import Positive, Section


class ServerConfig(Section):
    """Warm servers, one per base model (or per policy of full weights). They belong to the driver
    that started them, and end without it."""

    lease_s: Annotated[int, Field(ge=2, le=86400, strict=True)] = 300
    """Seconds without a sign of life from the driver after which a server ends."""
    max_age_s: Positive = 86400
    """After which a server ends in any case; the driver starts another one."""
    start_timeout_s: Positive = 1800
    """Until a server must be ready: node, image, weights."""
    patience_s: Positive = 600
    """How long a step waits for a server that stopped answering."""
    concurrency: Positive = 256
    """Requests in flight at a time."""
    max_probe_gap: Annotated[float, Field(gt=0.0)] | None = None
    """Largest mean |log-prob of the server - expected| of a probe, in nats. None: 0.001 in
    float32, 0.2 in bfloat16, 0.5 if the weights are quantized."""
    port: Annotated[int, Field(ge=1024, le=65535, strict=True)] = 8000
    service_account: str | None = "rolewise-server"
    """Of the servers' pods: may delete their own Deployment and Service, see deploy/."""

    @model_validator(mode="after")
    def _lease_is_shorter(self) -> "ServerConfig":
        if self.lease_s > self.max_age_s:
            raise ValueError(f"lease_s {self.lease_s} is longer than max_age_s {self.max_age_s}")
        return self
