"""Step `initialise`: the policies that a run begins with."""
