// Driver: changes of members, as calls that resolve when the cluster has them. Each is told by the state it wants, so that
// asking again after an unknown outcome does nothing twice (M15).
//
// Law: a change that was proposed is the others' to commit, also when this member's disk fails then. So whoever asked is told that
// the outcome is unknown, and why; never the fault itself, which is this one member's: another one will answer (N5).

import type { Clock } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import type { Membership, MembershipChange, RaftNode } from '@latchkey/raft'

export class MemberChanges {
  readonly #node: RaftNode
  readonly #clock: Clock

  constructor(node: RaftNode, clock: Clock) {
    this.#node = node
    this.#clock = clock
  }

  add(id: string, url: string): Promise<void> {
    const there = (now: Membership) => now.learners.includes(id) || now.voters.includes(id)
    const inForce = this.#inForce()
    const known = inForce.peers[id]
    if (known !== undefined && known.url !== url && there(inForce)) {
      return Promise.reject(
        new LatchkeyError(
          'ERR_CONFIG_CHANGE_IN_PROGRESS',
          `There is a member ${id} already, at ${known.url}. Remove or update it first.`,
          { retryable: false },
        ),
      )
    }
    return this.#reach({ type: 'add-learner', id, peer: { url, incarnation: '' } }, there)
  }

  promote(id: string): Promise<void> {
    return this.#reach({ type: 'promote', id }, (now) => now.voters.includes(id) && now.outgoing.length === 0)
  }

  update(id: string, url: string): Promise<void> {
    const incarnation = this.#committed().peers[id]?.incarnation ?? ''
    return this.#reach(
      { type: 'update', id, peer: { url, incarnation } },
      (now) => now.peers[id]?.url === url,
    )
  }

  remove(id: string): Promise<void> {
    return this.#reach(
      { type: 'remove', id },
      (now) => now.peers[id] === undefined && now.outgoing.length === 0,
    )
  }

  #committed(): Membership {
    return this.#node.applied.membership
  }

  /** From its append on, committed or not. */
  #inForce(): Membership {
    return this.#node.raft.membership
  }

  #reach(change: MembershipChange, there: (now: Membership) => boolean): Promise<void> {
    if (there(this.#committed())) return Promise.resolve()
    // Asked for before and not committed yet: it is waited for, not proposed again.
    if (this.#node.role !== 'leader' || !there(this.#inForce())) {
      const proposal = this.#node.proposeChange(change)
      if (!proposal.ok) return Promise.reject(refusal(proposal, change))
    }
    return new Promise((resolve, reject) => {
      // One that stepped down may have committed it with its last breath (its own removal always, M11), and applies it in a
      // moment; else the new leader may finish it or not, and whoever asks again finds out.
      const offs: (() => void)[] = []
      const end = (error?: LatchkeyError) => {
        for (const off of offs) off()
        if (error === undefined) resolve()
        else reject(error)
      }
      offs.push(
        this.#node.on('membership', (now) => there(now) && end()),
        this.#node.on(
          'role',
          ({ role }) => role !== 'leader' && unknownIn(this.#node.options.electionTimeout),
        ),
        this.#node.on('failed', (cause) =>
          end(new LatchkeyError('ERR_OUTCOME_UNKNOWN', undefined, { cause })),
        ),
      )
      const unknownIn = (ms: number) => {
        const over = () => end(new LatchkeyError('ERR_OUTCOME_UNKNOWN'))
        const timer = this.#clock.after(ms, over, { ref: false })
        offs.push(() => timer.cancel())
      }
      unknownIn(60_000)
    })
  }
}

function refusal(
  proposal: { readonly reason: string; readonly why?: string | undefined },
  change: MembershipChange,
): LatchkeyError {
  switch (proposal.reason) {
    case 'pending':
      return new LatchkeyError('ERR_CONFIG_CHANGE_IN_PROGRESS')
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
      return new LatchkeyError('ERR_NO_LEADER')
  }
}
