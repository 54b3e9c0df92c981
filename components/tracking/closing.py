"""What a promotion leaves in the training run: the closing numbers and the verdict as tags."""

from collections.abc import Mapping
from typing import Any

from components.config import OPEN_ENDED, ExperimentConfig
from components.tracking import runs
from components.tracking.connection import open_client, tracking_uri, translated


def log_closing(
    config: ExperimentConfig,
    ids: Mapping[str, str],
    iteration: int,
    metrics: Mapping[str, float],
    verdict: Mapping[str, Any],
) -> None:
    """Log to the state's training run at step `iteration`; nothing if it has none here.

    The names begin with `promotion/`, so they never meet the series of the iterations.
    """
    uri = tracking_uri(config.tracking)
    client = open_client(config.tracking)
    with translated(uri, f"logging the promotion of iteration {iteration}"):
        found = runs.existing_run(client, ids.get("training_run_id"))
        if found is None:
            return
        run_id = str(found.info.run_id)
        runs.log_points(client, run_id, iteration, metrics)
        tags = {
            "rolewise.promotion": "promoted" if verdict["promoted"] else "refused",
            "rolewise.promotion.iteration": str(iteration),
            "rolewise.promotion.reasons": " ".join(verdict["reasons"])[:5000],
            "rolewise.promotion.audit": f"{config.team_name}/{verdict['audit']:06d}",
        }
        runs.set_tags(client, run_id, tags)
        if config.iterations == OPEN_ENDED:  # no iteration is its last: the closing evaluation is
            client.set_terminated(run_id)
