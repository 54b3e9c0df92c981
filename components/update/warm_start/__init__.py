"""The warm start: models that know nothing imitate the environment's demonstrations first."""
