"""Promotion by team: the gate, the audit log, the step that moves the aliases, the way back."""
