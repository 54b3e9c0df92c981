"""The error that a user can act on. Everything else that is raised is a fault of ours."""


class RolewiseError(Exception):
    """One line that names what, which, got and expected, and where possible the fix."""


class ConfigError(RolewiseError):
    """The experiment configuration is wrong."""


class RecordError(RolewiseError):
    """A file between two steps is missing, damaged, of another schema, or has forbidden values."""


class StorageError(RolewiseError):
    """Object storage refused, is unreachable, or holds something other than its digest says."""


class PolicyError(RolewiseError):
    """A policy, its base model or its tokenizer cannot be used."""


class TrackingError(RolewiseError):
    """MLflow is unreachable, refused a call, or its registry contradicts itself."""
