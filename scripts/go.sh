#!/usr/bin/env bash
# usage: scripts/go.sh CMD ARGS
# Runs CMD where Go is found (GO in its environment): the one of this system, else the Debian package golang-go is installed, which
# needs root; where that fails this ends with 1 and says so: nothing is left out.
set -euo pipefail
[ $# -gt 0 ] || { echo 'usage: scripts/go.sh CMD ARGS' >&2; exit 2; }

if ! command -v go >/dev/null; then
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo 'go.sh: Go is not installed. Install the package golang-go of your system, then run this again.' >&2
    exit 1
  fi
  echo 'go.sh: installing golang-go'
  log=$(mktemp "${TMPDIR:-/tmp}/latchkey-go-XXXXXX")
  { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends golang-go; } >"$log" 2>&1 || {
    echo 'go.sh: golang-go could not be installed:' >&2
    tail -n 5 "$log" >&2
    rm -f "$log"
    exit 1
  }
  rm -f "$log"
fi
GO=$(command -v go)
export GO
"$@"
