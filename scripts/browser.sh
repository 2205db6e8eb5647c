#!/usr/bin/env bash
# usage: scripts/browser.sh CMD ARGS
# Runs CMD with the path of a browser in its environment (LATCHKEY_BROWSER): the one that is given there, else Chromium of this
# system. Where there is none the Debian package chromium-headless-shell is installed, which needs root; where that fails this ends
# with 1 and says so: nothing is left out.
set -euo pipefail
[ $# -gt 0 ] || { echo 'usage: scripts/browser.sh CMD ARGS' >&2; exit 2; }

find_browser() {
  for name in chromium-headless-shell chromium chromium-browser google-chrome; do
    if command -v "$name"; then return; fi
  done
  return 1
}

browser=${LATCHKEY_BROWSER:-$(find_browser || true)}
if [ -z "$browser" ]; then
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo 'browser.sh: there is no browser. Install the package chromium of your system, or set LATCHKEY_BROWSER, then run this again.' >&2
    exit 1
  fi
  echo 'browser.sh: installing chromium-headless-shell'
  log=$(mktemp "${TMPDIR:-/tmp}/latchkey-browser-XXXXXX")
  { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends chromium-headless-shell fonts-dejavu-core; } >"$log" 2>&1 || {
    echo 'browser.sh: chromium-headless-shell could not be installed:' >&2
    tail -n 5 "$log" >&2
    rm -f "$log"
    exit 1
  }
  rm -f "$log"
  browser=$(find_browser)
fi
export LATCHKEY_BROWSER="$browser"
"$@"
