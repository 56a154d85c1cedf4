#!/bin/sh
# Part of Hocket, under the Apache License v2.0.
#
# Installs the packages of packages.txt that are missing; does nothing, and
# needs no network and no rights, where all are there.
set -eu

list="$(dirname "$0")/packages.txt"

# missing PACKAGE...: those of them that are not installed.
missing() {
  for package in "$@"; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || printf ' %s' "$package"
  done
}

# shellcheck disable=SC2046 # one word per package
needed=$(missing $(sed 's/[#?].*//' "$list"))
# shellcheck disable=SC2046
optional=$(missing $(sed -n 's/^? *\([^ #]*\).*/\1/p' "$list"))
[ -n "$needed$optional" ] || exit 0

if [ "$(id -u)" = 0 ]; then
  root=""
elif command -v sudo >/dev/null 2>&1; then
  root="sudo"
elif [ -z "$needed" ]; then
  exit 0
else
  echo "error: these Debian packages are missing, and installing them needs" \
       "root or sudo:$needed" >&2
  exit 1
fi

export DEBIAN_FRONTEND=noninteractive
install="$root apt-get install -y -qq --no-install-recommends"
echo "Installing$needed$optional"
$root apt-get update -qq || [ -z "$needed" ]
# shellcheck disable=SC2086 # one word per package
[ -z "$needed" ] || $install $needed
for package in $optional; do
  $install "$package" ||
    echo "warning: no package $package: the tests that use it will skip" >&2
done
