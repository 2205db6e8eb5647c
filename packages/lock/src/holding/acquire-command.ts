// Rule: the command of one attempt to acquire a lock.

import type { Command, ContextArg, FlowArg, OP, ShareArg } from '@latchkey/protocol'

type Exclusive = readonly [
  op: typeof OP.tryLock,
  key: Uint8Array,
  fencingKey: Uint8Array | null,
  keepLease: boolean,
  id: string,
  lease: number,
  token: number,
  context: ContextArg,
  wait: number | null,
]

export function lockCommand(attempt: Exclusive, share: ShareArg | null, flow: FlowArg | undefined): Command {
  if (flow !== undefined) return [...attempt, share, flow]
  return share === null ? attempt : [...attempt, share]
}
