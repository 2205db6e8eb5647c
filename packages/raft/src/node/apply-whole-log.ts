// Driver: brings a state machine to the end of a member's log without running the member, for a cluster that
// has lost its majority for good.
//
// Law OP2: every whole entry of the log is applied, even if this member did not know that it was committed.
// Without this law: the leader and one follower have a write, and its caller has got the answer. The leader's
// disk fails before its next message. The follower has the entry, and drops it. An entry that never was
// committed may be applied too. Its caller got no answer, or ERR_OUTCOME_UNKNOWN.
//
// This file changes the log and the state: it removes a torn tail and applies entries. So the log and the
// state must be a copy. Without the copy: the lost members come back, and this member has applied entries
// that they never committed.

import { type Clock, elementAt, type Logger, nextTurn } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import type { Entry } from '../core/types.js'
import type { FileSystem, Identity } from '../wal/index.js'
import { Applier } from './applier.js'
import { isUnborn, openLog, settle } from './recover-log-and-machine.js'
import type { AppliedState, StateMachine } from './state-machine.js'

export interface CopiedMember {
  readonly id: string
  readonly machine: StateMachine
  readonly fs: FileSystem
  /** The folder of the log. */
  readonly dir: string
  readonly clock: Clock
  readonly logger: Logger
}

export interface WholeLog {
  readonly identity: Identity
  /** What the machine has applied now. */
  readonly state: AppliedState
  /** How many entries of the log were not in the state yet. */
  readonly fromLog: number
}

/** Opens the state machine, and leaves it open. */
export async function applyWholeLog(member: CopiedMember): Promise<WholeLog> {
  const { machine } = member
  const found = await machine.open()
  const { wal, recovered } = await openLog(member, { ...member, newId: () => '' })
  try {
    if (isUnborn(recovered) && found === undefined)
      throw new LatchkeyError(
        'ERR_WRONG_CLUSTER',
        `Member ${member.id} has never been part of a cluster: its directory is empty.`,
      )
    const booted = await settle(recovered, found, wal)
    if (booted.rebuild)
      throw new LatchkeyError(
        'ERR_CORRUPT',
        `The state of member ${member.id} does not fit its log: it was waiting for the state of another member.`,
      )
    const { applied } = booted
    const rest = booted.recovered.entries.filter(({ index }) => index > applied.position.index)
    const state = await applyAll(machine, rest, applied)
    return { identity: recovered.identity, state, fromLog: rest.length }
  } finally {
    await wal.close()
  }
}

function applyAll(machine: StateMachine, rest: readonly Entry[], from: AppliedState): Promise<AppliedState> {
  return new Promise((resolve, reject) => {
    const next = () => (applier.behind ? nextTurn(() => applier.pump()) : resolve(applier.state))
    const applier = new Applier(
      {
        machine,
        entry: (index) => elementAt(rest, index - from.position.index - 1),
        applied: next,
        failed: reject,
      },
      from,
    )
    applier.committed(from.position.index + rest.length)
    next()
  })
}
