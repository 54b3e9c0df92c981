"""The update on more than one node: a TrainJob of Kubeflow Trainer, followed by the step.

Nodes share no disk, so all that goes in and out passes through object storage.
"""
