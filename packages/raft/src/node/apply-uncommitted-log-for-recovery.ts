// Driver: applies all entries of one member's log to its state machine, without running the member. An
// operator needs this for a cluster that has lost its majority for good.
//
// Law OP2: every complete entry of the log is applied, even if this member does not know that the entry is
// committed. Without this law: the leader and this follower have stored a write, so the write is committed,
// and its caller has the answer. The leader's disk fails before the leader tells this follower. So this
// follower does not know that the write is committed, and would drop the write. Under this law, entries that
// were never committed are applied too. Their callers got no answer, or ERR_OUTCOME_UNKNOWN.
//
// This function changes the log and the state, so both must be copies. Without copies: the lost members come
// back, and this member has applied entries that the other members never committed.

import { type Clock, elementAt, type Logger, nextTurn } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import type { Entry } from '../core/types.js'
import type { FileSystem, Identity } from '../wal/index.js'
import { Applier } from './applier.js'
import { isUnborn, openLog, reconcile } from './recover-log-and-state-machine.js'
import type { AppliedState, StateMachine } from './state-machine-interface.js'

export interface CopiedMember {
  readonly id: string
  readonly machine: StateMachine
  readonly fs: FileSystem
  readonly dir: string
  readonly clock: Clock
  readonly logger: Logger
}

export interface WholeLog {
  readonly identity: Identity
  /** The position of the last applied entry, and the membership at that position. */
  readonly state: AppliedState
  readonly fromLog: number
}

/** Afterwards the state machine is open, and the log is closed. */
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
    const booted = await reconcile(recovered, found, wal)
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
