"""The step that begins an iteration: the training state of the one before."""
