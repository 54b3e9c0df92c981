"""Which engine generates: vLLM, or transformers where vLLM does not load.

No model library is imported before an engine is opened.
"""

from pathlib import Path

from components.engine import Engine
from components.errors import RolewiseError
from components.policies import Team
from components.rollout.deployments import Folders
from components.settings import RolloutConfig


def open_engine(settings: RolloutConfig, team: Team, store: Folders, cache: Path) -> Engine:
    """Load the policies that play a role, and print one line that says with which engine.

    `auto` falls back to transformers and prints the reason and the fix; `vllm` that cannot be used
    raises RolewiseError, PolicyError for a policy that cannot be loaded.
    """
    if settings.data_parallel > 1:
        from components.rollout.replicas import ReplicatedEngine

        return ReplicatedEngine(settings, team, store, cache)
    if settings.engine != "transformers":
        from components.rollout import vllm_engine

        try:
            vllm_engine.probe()
        except RolewiseError as error:
            if settings.engine == "vllm":
                raise
            print(f"engine: transformers (slower; {error})", flush=True)
        else:
            print("engine: vllm", flush=True)
            return vllm_engine.VllmEngine(settings, team, store, cache)
    else:
        print("engine: transformers", flush=True)
    from components.rollout.transformers_engine import TransformersEngine

    return TransformersEngine(settings, team, store, cache)
