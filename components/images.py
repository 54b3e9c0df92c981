"""Names of the runtimes that steps run in; a profile replaces them by pinned images at compile."""

CPU = "rolewise/cpu"
VLLM = "rolewise/vllm"
DEEPSPEED = "rolewise/deepspeed"
