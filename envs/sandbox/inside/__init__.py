"""What runs in the fork server and in its children: the standard library only, no secrets.

The server is started with `python -S` and a clean environment; nothing here may import from
outside this folder, for those modules would lie in the memory of every run.
"""
