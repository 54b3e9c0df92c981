"""Two teams on the same held-out tasks: paired differences, their intervals, a verdict."""
