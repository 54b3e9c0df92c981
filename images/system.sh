#!/bin/sh
# Install Debian packages in a build stage: system.sh PACKAGE...
# The interpreter's own headers are taken where it has them: python3-dev is left out then.
set -eu
header=$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h
packages=
for package in "$@"; do
  [ "$package" = python3-dev ] && [ -e "$header" ] || packages="$packages $package"
done
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# shellcheck disable=SC2086
apt-get install -y -qq --no-install-recommends $packages >/dev/null
rm -rf /var/lib/apt/lists/*
