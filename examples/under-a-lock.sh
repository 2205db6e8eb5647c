#!/usr/bin/env bash
# A shell script that must not run twice at once, anywhere in the cluster.
#   examples/under-a-lock.sh            (LATCHKEY_ENDPOINT says where a sidecar is; default ws://127.0.0.1:7001)
set -euo pipefail
latchkey=${LATCHKEY:-npx latchkey}

if [ -z "${LATCHKEY_LOCK_TOKEN:-}" ]; then
  # Run this very script again, under the lock. 75: somebody else has it.
  exec $latchkey lock backups/nightly --lease 10s --wait 5s -- "$0" "$@"
fi

echo "running alone, token $LATCHKEY_LOCK_TOKEN"
