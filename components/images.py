"""Names of the runtimes that steps run in; a profile replaces them by pinned images at compile."""

CPU = "rolewise/cpu"
VLLM = "rolewise/vllm"
DEEPSPEED = "rolewise/deepspeed"
DRIVER = "rolewise/driver"
"""CPU, with kfp's client: what drives a training run from inside a cluster."""
