#!/usr/bin/env bash
# usage: scripts/servers.sh postgres redis etcd -- scripts/engines.sh [VITEST ARGS]
# The tests of the lock engines against real servers. They mostly wait for leases to end, so the three engines are tried at the same time.
# The tests of one engine run one after the other, because some kill the server that all use. With arguments, one plain run of vitest.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ $# -gt 0 ]; then exec npx vitest run --config vitest.servers.config.ts "$@"; fi

output=$(mktemp -d "${TMPDIR:-/tmp}/latchkey-engines-XXXXXX")
engines=(postgres redis etcd)
runs=()
stop() {
  for run in "${runs[@]}"; do kill "$run" 2>/dev/null || true; done
  rm -rf "$output"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
for engine in "${engines[@]}"; do
  npx vitest run --config vitest.servers.config.ts "packages/$engine/" >"$output/$engine" 2>&1 &
  runs+=($!)
done
status=0
for i in "${!engines[@]}"; do
  wait "${runs[$i]}" || status=$?
  printf '== %s\n' "${engines[$i]}"
  cat "$output/${engines[$i]}"
done
runs=()
exit "$status"
