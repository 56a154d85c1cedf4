#!/bin/sh
# Part of Hocket, under the Apache License v2.0.
#
# Installs the packages of packages.txt that are missing; does nothing, and
# needs no network and no rights, where all are there.
set -eu

list="$(dirname "$0")/packages.txt"
wanted=$(sed 's/#.*//' "$list")

missing=""
for package in $wanted; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
  root=""
elif command -v sudo >/dev/null 2>&1; then
  root="sudo"
else
  echo "error: these Debian packages are missing, and installing them needs" \
       "root or sudo:$missing" >&2
  exit 1
fi

echo "Installing$missing"
export DEBIAN_FRONTEND=noninteractive
$root apt-get update -qq
# shellcheck disable=SC2086 # one word per package
$root apt-get install -y -qq --no-install-recommends $missing
