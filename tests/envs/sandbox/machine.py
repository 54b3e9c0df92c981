"""Which guarantees this machine lacks: asked once for all tests of the sandbox."""

from envs.sandbox import probe

MISSING = probe().missing
