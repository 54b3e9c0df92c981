"""The sections that say where results are kept: object storage and MLflow."""

from typing import Annotated, Literal

from pydantic import Field

from components.section import NonNegative, Positive, Section


class StorageConfig(Section):
    """Object storage for states, policies and step outputs."""

    uri: str = "file://build/store"
    """`file://folder` (relative to the working directory) or `s3://bucket/prefix`."""
    cache: str = "build/cache"
    """Local folder of downloaded policies, by digest."""
    endpoint_url: str | None = None
    """S3 only; None: AWS or AWS_ENDPOINT_URL_S3. Credentials come by boto3's usual chain."""
    region: str = "us-east-1"
    path_style: bool = True
    """False: the bucket is part of the host's name."""
    concurrency: Positive = 8
    """Requests at a time that move data; each holds a part of 16 MiB at most."""
    checksums: Literal["auto", "when_required", "when_supported"] = "auto"
    """Checksums in S3 requests, as botocore names them. when_supported: always, which older servers
    refuse. auto: always at AWS, only where the operation demands one at any other endpoint."""
    cache_gib: Annotated[float, Field(gt=0.0)] | None = None
    """Least recently used folders leave the cache above this; None: it grows."""
    keep_optimizers: Positive = 2
    """`gc` keeps the optimiser states of the last n iterations,"""
    keep_policies_every: Positive = 10
    """and the policies of every n-th, of the last two, of the best, and of registered teams."""


class TrackingConfig(Section):
    """MLflow."""

    uri: str | None = None
    """None: MLFLOW_TRACKING_URI, else sqlite:///build/mlflow.db."""
    experiment: str | None = None
    """None: the experiment's name."""
    num_traces: NonNegative = 4
    """Sampled episodes per iteration that become traces."""
