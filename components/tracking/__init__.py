"""MLflow: runs, traces and the registry. The only package that imports mlflow, and only inside
functions, so that importing a step stays cheap."""

from components.tracking.iteration import log_iteration
from components.tracking.succession import check_succession

__all__ = ["check_succession", "log_iteration"]
