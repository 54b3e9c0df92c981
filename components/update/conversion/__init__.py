"""What needs a model library to bring models in and out: checks of speech, merged adapters."""
