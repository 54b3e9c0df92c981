"""Environments judge: tasks, observations, rewards.

They import nothing from components or pipelines.
"""
