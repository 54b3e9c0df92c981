"""Pipelines wire: the DAGs, how they are compiled, run and submitted. No step computes here."""
