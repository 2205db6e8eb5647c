#!/usr/bin/env bash
# usage: scripts/promtool.sh [ARGS]   by default: checks deploy/prometheus/rules.yml and runs its unit tests.
# promtool is taken from the PATH; else the Debian package `prometheus` is downloaded and unpacked into a temporary folder: nothing is
# installed, and no service starts. Where that fails this ends with 1 and says so: nothing is left out.
set -euo pipefail
cd "$(dirname "$0")/.."

data=$(mktemp -d "${TMPDIR:-/tmp}/latchkey-promtool-XXXXXX")
trap 'rm -rf "$data"' EXIT

promtool=$(command -v promtool || true)
if [ -z "$promtool" ]; then
  command -v apt-get >/dev/null || { echo 'promtool.sh: promtool is not found. Install Prometheus, then run this again.' >&2; exit 1; }
  echo 'promtool.sh: unpacking promtool'
  mkdir "$data/package"
  # The user _apt, which downloads where the caller is root, must be able to write there.
  chmod 777 "$data" "$data/package"
  (cd "$data/package" && { apt-get -qq download prometheus || { apt-get -qq update && apt-get -qq download prometheus; }; }) >"$data/apt.log" 2>&1 || {
    echo 'promtool.sh: the package prometheus could not be downloaded:' >&2
    tail -n 5 "$data/apt.log" >&2
    exit 1
  }
  dpkg-deb --fsys-tarfile "$data"/package/prometheus_*.deb | tar -xf - -C "$data" ./usr/bin/promtool
  promtool="$data/usr/bin/promtool"
fi

if [ $# -gt 0 ]; then "$promtool" "$@"; exit; fi
"$promtool" check rules deploy/prometheus/rules.yml
"$promtool" test rules deploy/prometheus/rules.test.yml
