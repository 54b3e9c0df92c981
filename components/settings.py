"""The sections of an experiment's configuration, one frozen model each.

`components/config.py` puts them together, reads YAML and names the faults.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from components.place_settings import StorageConfig as StorageConfig
from components.place_settings import TrackingConfig as TrackingConfig
from components.section import Name as Name
from components.section import NonNegative as NonNegative
from components.section import Positive as Positive
from components.section import Section as Section
from components.section import Seed as Seed
from components.server_settings import ServerConfig

Beta = Annotated[float, Field(ge=0.0, lt=1.0)]
KeyPart = Literal["task", "node", "turn", "role"]
KEYS: tuple[KeyPart, ...] = ("task", "node", "turn", "role")


class EnvConfig(Section):
    """Which environment is played, with its own options."""

    name: str
    """A registered name, an entry point's name, or `module:Class`."""
    options: dict[str, Any] = {}
    reward: str = "dense"


class InitConfig(Section):
    """A small Qwen3-architecture model made from scratch, with a word-level tokenizer of the
    environment's lexicon. head_dim is one that vLLM's CPU kernels have."""

    hidden_size: Positive = 96
    intermediate_size: Positive = 256
    num_layers: Positive = 4
    num_heads: Positive = 4
    num_kv_heads: Positive = 2
    head_dim: Literal[32, 64, 128] = 32
    max_position_embeddings: Positive = 512

    @model_validator(mode="after")
    def _heads_fit(self) -> "InitConfig":
        if self.num_heads % self.num_kv_heads:
            raise ValueError(
                f"num_heads {self.num_heads} is no multiple of num_kv_heads {self.num_kv_heads}"
            )
        return self


class LoraConfig(Section):
    """A PEFT adapter on a frozen base."""

    r: Positive = 16
    alpha: Positive = 32
    target_modules: str | list[str] = "all-linear"


class PolicyConfig(Section):
    """Where a policy begins: `init://` (see InitConfig), `hf://repo@revision`, `s3://`, `file://`,
    `pkg://package` (a model inside an installed package) or `run://run:iteration/policy` (what an
    earlier run made, in the same store)."""

    base: str
    init: InitConfig | None = None
    lora: LoraConfig | None = None
    trainable: bool = True
    """False: plays its roles, is never updated."""

    @model_validator(mode="after")
    def _base_is_known(self) -> "PolicyConfig":
        schemes = ("init://", "hf://", "s3://", "file://", "pkg://", "run://")
        if not self.base.startswith(schemes):
            raise ValueError(
                f"base {self.base!r} has no known scheme; expected one of {', '.join(schemes)}"
            )
        if (self.init is not None) != (self.base == "init://"):
            raise ValueError(
                f"`init` goes with base `init://`, and only with it; base is {self.base!r}"
            )
        return self


class RolloutConfig(Section):
    """How episodes are played. K = num_candidates, T = num_turns."""

    engine: Literal["auto", "vllm", "transformers"] = "auto"
    """auto: vLLM if it is installed and loads, else transformers."""
    placement: Literal["fused", "staged"] = "fused"
    sampling: Literal["tree", "parallel"] = "tree"
    num_tasks: Positive = 32
    num_candidates: Positive = 4
    num_turns: Positive = 4
    beam: Positive = 1
    """Children kept at each node; 1 is the paper."""
    pick: Literal["greedy", "sample"] = "greedy"
    """greedy: the first maximal reward. sample: one of the K at random."""
    alpha: float = 1.0
    """Weight of the team reward in `alpha * team + local`."""
    temperature: Annotated[float, Field(gt=0.0)] = 1.0
    top_p: Annotated[float, Field(gt=0.0, le=1.0)] = 1.0
    top_k: NonNegative = 0
    max_new_tokens: Positive = 256
    max_prompt_tokens: Positive = 4096
    mask_truncated: bool = False
    """True: an answer cut at its length limit gets weight 0."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    kv_cache_mib: Positive = 64
    """KV cache per engine on the CPU."""
    gpu_memory_utilization: Annotated[float, Field(gt=0.0, le=1.0)] = 0.9
    """Share of a GPU's memory for the weights and caches of all models together."""
    tensor_parallel: Positive = 1
    """GPUs that share one copy of the weights (vLLM only)."""
    data_parallel: Positive = 1
    """Copies of the engine; each answers its part of the prompts."""
    quantization: Literal["fp8"] | None = None
    """Of the weights while they play (vLLM on GPUs). Old log-probs are then recomputed."""
    env_workers: Positive | Literal["auto"] = "auto"
    """Processes that judge answers; the results do not depend on it. 1: in the step's own. auto:
    one per core if a batch takes long. Environments that run programs share them out themselves."""
    server: ServerConfig | None = None
    """Servers that stay loaded between iterations, started by the driver; None: in the step."""

    @model_validator(mode="after")
    def _signal_exists(self) -> "RolloutConfig":
        if self.num_candidates == 1:
            raise ValueError(
                "num_candidates is 1: a group of one has no baseline, expected 2 or more"
            )
        if self.beam > self.num_candidates:
            raise ValueError(
                f"beam {self.beam} keeps more than num_candidates {self.num_candidates}"
            )
        if self.engine == "transformers" and (self.tensor_parallel > 1 or self.quantization):
            raise ValueError("tensor_parallel and quantization need `engine: vllm` (or auto)")
        if self.server and (self.engine == "transformers" or self.data_parallel > 1):
            raise ValueError("server needs `engine: vllm` (or auto) and data_parallel 1")
        if self.sampling == "parallel" and self.beam > 1:
            raise ValueError(
                f"beam {self.beam} needs `sampling: tree`; parallel episodes do not branch"
            )
        return self


class GroupingConfig(Section):
    """Groups and advantages (Eq. 1)."""

    key: list[KeyPart] = list(KEYS)
    allow_impure: bool = False
    """Needed by a coarser key: its groups mix prompts, so the team cannot be promoted."""
    credit: Literal["answer", "episode"] = "answer"
    """answer: a sample's own reward. episode: what its whole episode earned the team, the sum of
    all `team` parts, the same for every answer of it: GRPO over trajectories. Local parts do not
    count: what is paid anew in each turn would pay long episodes. Needs `sampling: parallel`."""
    std_ddof: Literal[0, 1] | None = 1
    """None: the mean is subtracted, nothing is divided."""
    eps: Annotated[float, Field(gt=0.0)] = 1e-6
    zero_variance: Literal["keep", "drop"] = "keep"
    """Whether the tokens of groups without variance stay in the loss's denominator."""

    @model_validator(mode="after")
    def _key_is_pure(self) -> "GroupingConfig":
        if len(set(self.key)) != len(self.key):
            raise ValueError(f"key {self.key} names a part twice")
        missing = [part for part in KEYS if part not in self.key]
        if missing and not self.allow_impure:
            raise ValueError(f"key {self.key} leaves out {missing}: needs `allow_impure: true`")
        return self


class UpdateConfig(Section):
    """Eq. 2 and its optimiser."""

    learning_rate: Annotated[float, Field(gt=0.0)] = 1e-6
    warmup_steps: NonNegative = 0
    betas: tuple[Beta, Beta] = (0.9, 0.999)
    adam_eps: Annotated[float, Field(gt=0.0)] = 1e-8
    weight_decay: Annotated[float, Field(ge=0.0)] = 0.01
    max_grad_norm: Annotated[float, Field(gt=0.0)] = 1.0
    minibatch_size: Positive = 64
    """Samples per optimiser step."""
    epochs: Positive = 1
    clip_low: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.2
    clip_high: Annotated[float, Field(gt=0.0)] = 0.2
    dual_clip: Annotated[float, Field(gt=1.0)] | None = None
    """Bounds the loss of very unlikely bad tokens, e.g. 3; None: off."""
    aggregation: Literal["token_mean", "sequence_mean"] = "token_mean"
    kl_coef: Annotated[float, Field(ge=0.0)] = 0.0
    """KL to the policies the run began with."""
    entropy_coef: Annotated[float, Field(ge=0.0)] = 0.0
    old_logprobs: Literal["auto", "rollout", "recompute"] = "auto"
    """auto: from the engine if it sampled untruncated in fp32, else recomputed beforehand."""
    importance_cap: Annotated[float, Field(gt=0.0)] = 2.0
    """Truncation of pi_old / pi_sampler where old log-probs are recomputed."""
    max_logprob_mismatch: Annotated[float, Field(gt=0.0)] = 0.5
    """The step fails if mean |log-prob of the engine - log-prob recomputed| is larger."""
    tokens_per_microbatch: Positive = 16384
    """Padded tokens, prompt included."""
    gradient_checkpointing: bool = False
    """Keep each layer's input alone and compute the rest again: about a third more time, and a
    small part of the memory."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    zero_stage: Literal[0, 1, 2, 3] = 1
    num_processes: Positive = 1
    """Of one node: one per GPU."""
    num_nodes: Positive = 1
    """More than one: a TrainJob of Kubeflow Trainer, whose nodes meet in object storage."""
    share_process: bool = True
    """One process updates all policies (small models); False: one task per policy."""

    @model_validator(mode="after")
    def _stage_fits_dtype(self) -> "UpdateConfig":
        if self.zero_stage == 0 and self.dtype == "bfloat16":
            raise ValueError(
                "zero_stage 0 with bfloat16 halves the first update in DeepSpeed; use stage 1-3"
            )
        return self


class WarmStartConfig(Section):
    """Supervised steps on the environment's demonstrations, for models that know nothing."""

    steps: Positive = 900
    batch_size: Positive = 64
    learning_rate: Annotated[float, Field(gt=0.0)] = 3e-3
    warmup_steps: NonNegative = 50
    num_tasks: Positive = 4096
    """Training tasks to demonstrate; never those of the rollout's stream."""


class BenchmarkConfig(Section):
    """Another set of held-out tasks for the same roles, played once in the final evaluation."""

    env: str | None = None
    """None: the experiment's environment."""
    options: dict[str, Any] = {}
    """Over the experiment's `env.options` key by key, or on their own with another `env`."""
    split: Literal["validation", "test"] = "test"
    num_tasks: Positive = 200


class EvaluationConfig(Section):
    """Greedy play (K = 1) on held-out tasks."""

    num_tasks: Positive = 200
    every: Positive = 1
    """The rollout of every n-th iteration evaluates the team that it loads, on validation."""
    swapped: bool = False
    """Also play the final team with its policies exchanged."""
    test: bool = True
    """Play the test split once, in the final evaluation."""
    benchmarks: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$")], BenchmarkConfig] = {}
    """By name; reported, never used to choose a team."""
    confidence: Annotated[float, Field(gt=0.5, le=0.9999)] = 0.95

    @model_validator(mode="after")
    def _names_are_free(self) -> "EvaluationConfig":
        taken = sorted({"train", "validation", "test"} & set(self.benchmarks))
        if taken:
            raise ValueError(f"benchmarks {taken} have names of splits, expected other names")
        return self


class PromotionConfig(Section):
    """The gate that a new champion must pass."""

    team: Name | None = None
    """Registered name; None: the experiment's name."""
    min_gain: float = 0.0
    """The lower bound of the paired success difference must be above this."""
    model_registry_url: Annotated[str, Field(pattern=r"^https?://")] | None = None
    """Kubeflow's Model Registry, told of every champion beside MLflow; None: only MLflow."""
