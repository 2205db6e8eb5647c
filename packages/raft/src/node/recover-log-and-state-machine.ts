// Driver: opens the log at a member's start, and makes the log and the state machine agree (boot-plan.ts).

import { elementAt } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import { decodeMembership, encodeMembership, membersOf, NO_MEMBERS } from '../core/index.js'
import type { Entry, HardState, LogPosition, Membership } from '../core/types.js'
import { type MembershipCodec, type Recovered, Wal } from '../wal/index.js'
import { planBoot } from './boot-plan.js'
import type { AppliedState } from './state-machine-interface.js'
import type { ReplicaOptions, ReplicaPorts } from './replica-types.js'

const NOWHERE: LogPosition = { index: 0, term: 0, time: 0 }

/**
 * An empty membership is encoded as zero bytes. The log of a member that waits to be added begins with an
 * empty membership.
 */
const membershipCodec: MembershipCodec = {
  encode: (membership) =>
    membersOf(membership).length === 0 ? new Uint8Array(0) : encodeMembership(membership),
  decode: (bytes) => {
    const membership = bytes.length === 0 ? NO_MEMBERS : decodeMembership(bytes)
    if (membership === undefined)
      throw new LatchkeyError('ERR_CORRUPT', 'The members in the log cannot be read.')
    return membership
  },
}

export function openLog(
  options: Pick<ReplicaOptions, 'group' | 'id'>,
  ports: Pick<ReplicaPorts, 'fs' | 'dir' | 'newId' | 'clock' | 'logger'>,
): Promise<{ wal: Wal; recovered: Recovered }> {
  return Wal.open({
    fs: ports.fs,
    dir: ports.dir,
    group: options.group ?? 0,
    memberId: options.id,
    incarnation: ports.newId(),
    membership: membershipCodec,
    clock: ports.clock,
    logger: ports.logger,
  })
}

export const isOneOfMany = ({ members, join }: ReplicaOptions) =>
  !join && Object.keys(members ?? {}).length > 1

/**
 * True if this log has never recorded a term, an entry or a cluster id. So with this log, this member has
 * neither voted nor acknowledged an entry.
 */
export function isUnborn({ hardState, entries, start, identity }: Recovered): boolean {
  return (
    hardState.term === 0 && entries.length === 0 && start.position.index === 0 && identity.clusterId === ''
  )
}

/**
 * Writes the members from the options to a new log, before the first message is sent. From then on the data
 * directory belongs to this group of members.
 */
export async function firstMembers(
  options: ReplicaOptions,
  wal: Wal,
  recovered: Recovered,
): Promise<Recovered> {
  if (options.join || membersOf(recovered.start.membership).length > 0) return recovered
  const urls = Object.entries(options.members ?? { [options.id]: '' })
  const membership: Membership = {
    ...NO_MEMBERS,
    voters: urls.map(([id]) => id).sort((a, b) => (a < b ? -1 : 1)),
    peers: Object.fromEntries(urls.map(([id, url]) => [id, { url, incarnation: '' }])),
  }
  await restartLog(wal, NOWHERE, membership)
  return { ...recovered, start: { position: NOWHERE, membership } }
}

export interface Booted {
  readonly recovered: Recovered
  readonly applied: AppliedState
  readonly rebuild: boolean
}

export async function reconcile(
  recovered: Recovered,
  applied: AppliedState | undefined,
  wal: Wal,
): Promise<Booted> {
  const { start, entries } = recovered
  const plan = planBoot(extentOf(start.position, entries), applied)
  switch (plan.type) {
    case 'fresh':
      return { recovered, applied: start, rebuild: false }
    case 'go':
      return { recovered, applied: plan.state, rebuild: false }
    case 'restart-log': {
      const hardState = hardStateBehind(plan.state.position, recovered)
      await restartLog(wal, plan.state.position, plan.state.membership, hardState)
      const restarted = { ...recovered, hardState, start: plan.state, entries: [] }
      return { recovered: restarted, applied: plan.state, rebuild: false }
    }
    case 'rebuild':
      return { recovered, applied: start, rebuild: true }
  }
}

function extentOf(start: LogPosition, entries: readonly Entry[]) {
  return {
    start,
    lastIndex: start.index + entries.length,
    termAt: (index: number) =>
      index === start.index ? start.term : elementAt(entries, index - start.index - 1).term,
  }
}

/**
 * Returns the hard state for a log that drops its entries and begins again after the given position. A state
 * machine that was restored from a backup may have a higher term than the log. In that term this member has
 * not voted.
 */
function hardStateBehind({ term }: LogPosition, { hardState }: Recovered): HardState {
  return hardState.term >= term ? hardState : { term, vote: undefined }
}

function restartLog(
  wal: Wal,
  position: LogPosition,
  membership: Membership,
  hardState?: HardState,
): Promise<void> {
  const batch = {
    id: 0,
    hardState,
    truncateFrom: undefined,
    entries: [],
    restartAfter: { position, membership },
  }
  return new Promise((resolve, reject) => {
    wal.append(batch, (error) => (error === undefined ? resolve() : reject(error)))
  })
}
