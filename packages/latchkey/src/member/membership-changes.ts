// Driver: runs changes of membership as calls that resolve when the change is committed. A call names the
// wanted result, so that a second call after an unknown outcome does nothing twice (M15).
//
// Laws:
//   - a proposed change may be committed by the other members although this member's disk fails. So the
//     caller gets an error with an unknown outcome and its reason, and never the error of the disk. That
//     error concerns only this member, and another member will answer (N5);
//   - a caller does not see the leader's own changes: its call waits for them. A change that another caller
//     has requested refuses the call (M3);
//   - an address is used by one member only (M26). If two members had the same address, connections to one of
//     them would reach the other and be refused. One of the members would count as a voter that never
//     answers;
//   - a waiting call was not proposed. Such a call ends as not applied, at the latest when its leader no
//     longer leads.

import type { Clock } from '@latchkey/base'
import { LatchkeyError, show } from '@latchkey/protocol'
import {
  isBookKeeping,
  isMember,
  type Membership,
  type MembershipChange,
  membersOf,
  type RaftNode,
  sameUrl,
} from '@latchkey/raft'

/** Returns the change to propose now, or an error if the change can never be proposed. */
type Ask = () => MembershipChange | LatchkeyError
type There = (now: Membership) => boolean

/**
 * In election timeouts. A call whose change was not proposed within this time ends. A leader without a
 * majority has stepped down long before.
 */
const BOOK_KEEPING_TIMEOUTS = 2
const COMMIT_MS = 60_000

export class MemberChanges {
  readonly #node: RaftNode
  readonly #clock: Clock

  constructor(node: RaftNode, clock: Clock) {
    this.#node = node
    this.#clock = clock
  }

  add(id: string, url: string): Promise<void> {
    const isThere = (now: Membership) => now.learners.includes(id) || now.voters.includes(id)
    const ask = () => {
      const now = this.#node.raft.membership
      const known = now.peers[id]
      if (known !== undefined && known.url !== url && isThere(now)) return knownElsewhere(id, known.url)
      return this.#taken(id, url) ?? ({ type: 'add-learner', id, peer: { url, incarnation: '' } } as const)
    }
    return this.#reach(ask, (now) => isThere(now) && now.peers[id]?.url === url)
  }

  promote(id: string): Promise<void> {
    return this.#reach(
      () => this.#unknown(id) ?? this.#taken(id) ?? ({ type: 'promote', id } as const),
      (now) => now.voters.includes(id) && now.outgoing.length === 0,
    )
  }

  update(id: string, url: string): Promise<void> {
    const incarnation = () => this.#node.raft.membership.peers[id]?.incarnation ?? ''
    return this.#reach(
      () =>
        this.#unknown(id) ??
        this.#taken(id, url) ??
        ({ type: 'update', id, peer: { url, incarnation: incarnation() } } as const),
      (now) => now.peers[id]?.url === url,
    )
  }

  remove(id: string): Promise<void> {
    return this.#reach(
      () => ({ type: 'remove', id }),
      (now) => now.peers[id] === undefined && now.outgoing.length === 0,
    )
  }

  #unknown(id: string): LatchkeyError | undefined {
    const { membership } = this.#node.raft
    return isMember(membership, id) ? undefined : noSuchMember(id, membership)
  }

  /** Returns why that member cannot have this address, or undefined if the address is allowed. */
  #taken(id: string, url?: string): LatchkeyError | undefined {
    const { peers } = this.#node.raft.membership
    const wanted = url ?? peers[id]?.url ?? ''
    const other = Object.keys(peers).find((one) => one !== id && sameUrl(peers[one]?.url ?? '', wanted))
    return wanted === '' || other === undefined ? undefined : addressTaken(id, wanted, other)
  }

  #reach(ask: Ask, there: There): Promise<void> {
    return new Promise((resolve, reject) => {
      new Way(this.#node, this.#clock, ask, there, (error) => (error ? reject(error) : resolve())).go()
    })
  }
}

/**
 * The error for a caller that has named a member that does not exist. A retry does not help, but another id
 * does.
 */
export function noSuchMember(id: unknown, membership: Membership): LatchkeyError {
  const known = membersOf(membership).join(', ')
  return new LatchkeyError('ERR_MISMATCH', `There is no member ${show(id)}: the members are ${known}.`)
}

/** One call for a change. The change waits to be proposed, or waits for its commit. */
class Way {
  readonly #node: RaftNode
  readonly #clock: Clock
  readonly #ask: Ask
  readonly #there: There
  readonly #tell: (error?: LatchkeyError) => void
  readonly #offs: (() => void)[] = []
  #proposed = false
  #over = false

  constructor(node: RaftNode, clock: Clock, ask: Ask, there: There, tell: (error?: LatchkeyError) => void) {
    this.#node = node
    this.#clock = clock
    this.#ask = ask
    this.#there = there
    this.#tell = tell
  }

  go(): void {
    const node = this.#node
    this.#offs.push(
      node.on('membership', (now) => this.#there(now) && this.#end()),
      // The leader's own changes come first, because their listener was added earlier (cluster-founder.ts).
      node.on('applied', () => this.#proposed || this.#propose()),
      node.on('role', ({ role }) => role !== 'leader' && this.#left()),
      node.on('failed', (cause) => this.#end(this.#proposed ? unknown({ cause }) : noLeader({ cause }))),
    )
    this.#after(
      node.options.electionTimeout * BOOK_KEEPING_TIMEOUTS,
      () => this.#proposed || this.#end(pending()),
    )
    this.#propose()
  }

  #propose(): void {
    const { raft, applied, role } = this.#node
    if (this.#there(applied.membership)) return this.#end()
    const change = this.#ask()
    if (change instanceof LatchkeyError) return this.#end(change)
    // The same change was requested before and is not committed yet. This call waits for that change and
    // proposes nothing.
    if (role === 'leader' && this.#there(raft.membership)) return this.#isProposed()
    const proposal = this.#node.proposeChange(change)
    if (proposal.ok) return this.#isProposed()
    const waits =
      proposal.reason === 'pending' && isBookKeeping(raft.membershipAt(raft.commit), raft.membership)
    if (!waits) this.#end(refusal(proposal, change))
  }

  #isProposed(): void {
    this.#proposed = true
    if (this.#over) return
    this.#after(COMMIT_MS, () => this.#end(unknown()))
  }

  /**
   * Called when this leader steps down. It may just have committed the change, and may apply the change in a
   * moment. This is always so for its own removal (M11). Otherwise the new leader finishes the change or
   * drops it, and a retry of the caller finds out which.
   */
  #left(): void {
    if (this.#proposed) this.#after(this.#node.options.electionTimeout, () => this.#end(unknown()))
    else this.#end(noLeader())
  }

  #after(ms: number, run: () => void): void {
    const timer = this.#clock.after(ms, run, { ref: false })
    this.#offs.push(() => timer.cancel())
  }

  #end(error?: LatchkeyError): void {
    this.#over = true
    for (const off of this.#offs.splice(0)) off()
    this.#tell(error)
  }
}

const unknown = (options = {}) => new LatchkeyError('ERR_OUTCOME_UNKNOWN', undefined, options)
const noLeader = (options = {}) => new LatchkeyError('ERR_NO_LEADER', undefined, options)
const pending = () => new LatchkeyError('ERR_CONFIG_CHANGE_IN_PROGRESS')

const addressTaken = (id: string, url: string, other: string) =>
  new LatchkeyError(
    'ERR_MISMATCH',
    `${url} is the address of member ${other} already, so it cannot be that of ${id}. Name the address where ${id} listens; or remove ${other}, or update its address, first.`,
  )

const knownElsewhere = (id: string, url: string) =>
  new LatchkeyError(
    'ERR_CONFIG_CHANGE_IN_PROGRESS',
    `There is a member ${id} already, at ${url}. Remove or update it first.`,
    { retryable: false },
  )

function refusal(
  proposal: { readonly reason: string; readonly why?: string | undefined },
  change: MembershipChange,
): LatchkeyError {
  switch (proposal.reason) {
    case 'pending':
      return pending()
    case 'lagging':
      return new LatchkeyError(
        'ERR_BUSY',
        `The member is still catching up; promote it once its lag in status() is small.`,
      )
    case 'invalid':
      return new LatchkeyError(
        'ERR_PROTOCOL',
        `The change (${change.type}) was refused: ${proposal.why ?? 'it makes no sense here'}.`,
      )
    default:
      return noLeader()
  }
}
