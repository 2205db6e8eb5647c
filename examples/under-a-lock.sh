#!/usr/bin/env bash
# This shell script never runs twice at the same time, even on several machines.
#   examples/under-a-lock.sh            (LATCHKEY_ENDPOINT is the address of a sidecar, by default ws://127.0.0.1:7001)
set -euo pipefail
latchkey=${LATCHKEY:-npx latchkey}

if [ -z "${LATCHKEY_LOCK_TOKEN:-}" ]; then
  # Run this script again under the lock. The exit code is 75 if another caller has the lock.
  exec $latchkey lock backups/nightly --lease 10s --wait 5s -- "$0" "$@"
fi

echo "running alone, token $LATCHKEY_LOCK_TOKEN"
