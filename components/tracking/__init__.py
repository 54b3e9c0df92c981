"""MLflow: runs, traces and the registry. The only package that imports mlflow, and only inside
functions, so that importing a step stays cheap."""

from components.tracking.iteration import log_iteration

__all__ = ["log_iteration"]
