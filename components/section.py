"""What every section of the configuration is made of: strict models, and numbers within bounds."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Positive = Annotated[int, Field(ge=1, le=2**31 - 1, strict=True)]
NonNegative = Annotated[int, Field(ge=0, le=2**31 - 1, strict=True)]
Seed = Annotated[int, Field(ge=0, le=2**32 - 1, strict=True)]
"""As NumPy and PyTorch take them."""
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$")]
"""Fit for a registry, a key in object storage and a Kubernetes label."""


class Section(BaseModel):
    """Frozen, strict about its keys, and every number is finite."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
