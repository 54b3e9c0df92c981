"""The update: Eq. 2 on each policy's own samples, by DeepSpeed; and the warm start's training."""
