"""The faults of the API of Kubeflow Pipelines in words: what it said, what it means, what to do."""

import json
import re

from components.errors import RolewiseError
from pipelines.access import Access


class ApiError(RolewiseError):
    """The API refused a call."""


class ApiUnavailable(ApiError):
    """The API did not answer, or could not for now: the same call may succeed later."""


def silence(access: Access, error: Exception) -> str:
    """Why nothing came back, and what to do."""
    reason = " ".join(str(getattr(error, "reason", None) or error).split())
    reason = re.sub(r"^.*?[>)]: ", "", reason)  # urllib3 begins with its object
    fix = "check --endpoint, or `kubectl port-forward -n kubeflow svc/ml-pipeline 8888`"
    if "certificate" in reason:
        fix = "give the cluster's certificate authority by --ca-file"
    elif "redirect" in reason:
        fix = "a login stands before it: give the API's own address and a token by --token-file"
    return f"{access.endpoint}: no answer from the Kubeflow Pipelines API: {reason}; {fix}"


def refusal(access: Access, status: int, body: str) -> ApiError:
    """What a status other than 2xx means for the user."""
    where = access.endpoint
    if status in (401, 403):
        source = access.token_file or ("KF_PIPELINES_TOKEN" if access.token else "no token")
        return ApiError(
            f"{where}: the API refused our token ({status}; {source}): {_message(body)}; "
            "give a fresh one by --token-file or KF_PIPELINES_TOKEN, and check --namespace"
        )
    if status == 404:
        return ApiError(f"{where}: not found: {_message(body)}; is it the API of Pipelines 2?")
    if status == 429 or status >= 500 or status == 0:
        return ApiUnavailable(f"{where}: the API fails for now ({status}): {_message(body)}")
    return ApiError(f"{where}: the API refused ({status}): {_message(body)}")


def _message(body: str) -> str:
    """The sentence in an error's JSON, or the beginning of what came instead."""
    try:
        content = json.loads(body)
        text = str(content.get("error_message") or content.get("message") or content.get("error"))
    except (ValueError, AttributeError):
        text = body
    text = " ".join(text.split())
    return text if len(text) <= 400 else text[:397] + "..."
