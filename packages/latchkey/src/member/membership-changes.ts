// Driver: runs calls that add, promote, update or remove members. A call resolves when its change is
// committed. A call names the wanted membership, so a repeated call changes nothing twice (M15).
//
// Laws:
//   - If this member's disk fails after the proposal of a change, the other members may still commit the
//     change. So the caller gets ERR_OUTCOME_UNKNOWN, with the failure as its cause (N5).
//   - A call waits for changes that the leader makes itself, for example for the end of a joint
//     configuration. A call fails if a different change of another caller is not committed yet (M3).
//   - Two members never have the same address (M26). Otherwise connections to one member would reach the
//     other and be refused, and a voter that never answers would count for majorities.
//   - If the leader steps down before a call has proposed its change, the call ends as not applied.

import { type Clock, sameUrl } from '@latchkey/base'
import { LatchkeyError, show } from '@latchkey/protocol'
import {
  isBookKeeping,
  isMember,
  type Membership,
  type MembershipChange,
  membersOf,
  type RaftNode,
} from '@latchkey/raft'

type Ask = () => MembershipChange | LatchkeyError
type IsReached = (now: Membership) => boolean

/**
 * In election timeouts. A call that cannot propose its change within this time fails. A leader needs less
 * time to complete its own changes, or to step down if it cannot reach a majority.
 */
const BOOK_KEEPING_TIMEOUTS = 2
/** In ms. A proposed change that is not committed after this time ends with ERR_OUTCOME_UNKNOWN. */
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

  #taken(id: string, url?: string): LatchkeyError | undefined {
    const { peers } = this.#node.raft.membership
    const wanted = url ?? peers[id]?.url ?? ''
    const other = Object.keys(peers).find((one) => one !== id && sameUrl(peers[one]?.url ?? '', wanted))
    return wanted === '' || other === undefined ? undefined : addressTaken(id, wanted, other)
  }

  #reach(ask: Ask, isReached: IsReached): Promise<void> {
    return new Promise((resolve, reject) => {
      new MembershipCall(this.#node, this.#clock, ask, isReached, (error) =>
        error ? reject(error) : resolve(),
      ).go()
    })
  }
}

export function noSuchMember(id: unknown, membership: Membership): LatchkeyError {
  const known = membersOf(membership).join(', ')
  return new LatchkeyError('ERR_MISMATCH', `There is no member ${show(id)}: the members are ${known}.`)
}

class MembershipCall {
  readonly #node: RaftNode
  readonly #clock: Clock
  readonly #ask: Ask
  readonly #isReached: IsReached
  readonly #tell: (error?: LatchkeyError) => void
  readonly #offs: (() => void)[] = []
  #proposed = false
  #over = false

  constructor(
    node: RaftNode,
    clock: Clock,
    ask: Ask,
    isReached: IsReached,
    tell: (error?: LatchkeyError) => void,
  ) {
    this.#node = node
    this.#clock = clock
    this.#ask = ask
    this.#isReached = isReached
    this.#tell = tell
  }

  go(): void {
    const node = this.#node
    this.#offs.push(
      node.on('membership', (now) => this.#isReached(now) && this.#end()),
      // record-ids-and-addresses-in-membership.ts has added a listener for this event earlier, so the
      // leader's own change is proposed first.
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
    if (this.#isReached(applied.membership)) return this.#end()
    const change = this.#ask()
    if (change instanceof LatchkeyError) return this.#end(change)
    // Another call may have proposed the same change. This call then waits for the commit.
    if (role === 'leader' && this.#isReached(raft.membership)) return this.#isProposed()
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
   * Called when this member no longer leads. For an election timeout, the member may still apply a proposed
   * change, for example its own removal (M11). Then the call ends as unknown, because the new leader may or
   * may not commit the change.
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
        `The change (${change.type}) was refused: ${proposal.why ?? 'it is not possible in the present membership'}.`,
      )
    default:
      return noLeader()
  }
}
