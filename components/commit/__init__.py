"""The step that makes an iteration happen: its training state, written once, last of all."""
