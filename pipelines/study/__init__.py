"""Studies: several arms of one experiment, each with several seeds, at an equal sampling budget."""
