"""What leaves a store and what stays: the rules, the references, the plan and its execution.

`components/storage/removal.py` has the protocol by which a folder is removed beside running runs.
"""
