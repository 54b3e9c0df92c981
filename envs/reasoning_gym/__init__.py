"""The problems of the package reasoning-gym as an environment (see README.md).

`import reasoning_gym` in these modules is the installed package; this folder is
`envs.reasoning_gym`.
"""
