"""Warm servers: vLLM in a container that outlives a step, and what steps say to it."""
