"""Images run: one per runtime (cpu, driver, vllm, deepspeed), built, pushed and pinned here."""
