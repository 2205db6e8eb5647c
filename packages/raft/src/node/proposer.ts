// Driver: what a leader proposes: the commands that gathered, as one entry, and time where only time is wanted.
//
// Laws
//   - commands that arrive while the log is being written go into the next entry together
//   - while the lead is being given away they wait: they go on, or are refused as never handed on (E17)

import type { Effect, Entry, Proposal, Raft } from '../core/index.js'
import type { Applied } from './state-machine.js'
import {
  type Batch,
  type Done,
  type LogRecord,
  Proposals,
  type ProposalCaps,
  type Refusal,
  tell,
} from './proposals.js'

/** CT4: at most one tick entry in this many ms. */
const TICK_ENTRY_MS = 50
const NOTHING = new Uint8Array(0)

export interface ProposerPorts {
  readonly raft: Raft
  readonly caps: ProposalCaps
  /** The log is not being written. */
  readonly idle: () => boolean
  readonly now: () => number
  readonly run: (effects: readonly Effect[]) => void
}

export class Proposer {
  readonly #ports: ProposerPorts
  readonly #proposals: Proposals
  #lastAppendAt = Number.NEGATIVE_INFINITY

  constructor(ports: ProposerPorts) {
    this.#ports = ports
    this.#proposals = new Proposals(ports.caps)
  }

  get gathered(): number {
    return this.#proposals.gathered
  }

  add(record: LogRecord, done: Done, alone: boolean, ticket: number): Refusal | undefined {
    if (this.#ports.raft.role !== 'leader') return 'not-leader'
    return this.#proposals.add(record, done, alone, ticket)
  }

  /** An entry of all that gathered, where it may go now. */
  pump(): void {
    const { raft, idle, now } = this.#ports
    while (this.#proposals.gathered > 0 && raft.role === 'leader' && idle() && !raft.transferring) {
      const batch = this.#proposals.take()
      if (batch === undefined) return
      const at = now()
      const proposal = this.#propose(batch, at)
      if (!proposal.ok) {
        tell(batch.callers, { type: 'refused', reason: refusal(proposal.reason) })
        continue
      }
      this.#proposals.proposed(proposal.index, proposal.term, batch)
      this.#lastAppendAt = at
      this.#ports.run(proposal.effects)
    }
  }

  #propose({ data, callers }: Batch, at: number): Proposal {
    try {
      return this.#ports.raft.propose('commands', data, at)
    } catch (error) {
      tell(callers, { type: 'unknown' })
      throw error
    }
  }

  /** CT4: only time is proposed; what it ends is decided at apply. Nothing is proposed on top of what is not applied yet. */
  tick(now: number, applied: number, nextDeadline: () => number | undefined): void {
    const { raft } = this.#ports
    if (raft.role !== 'leader' || now - this.#lastAppendAt < TICK_ENTRY_MS || applied < raft.lastIndex) return
    const deadline = nextDeadline()
    if (deadline === undefined || raft.clusterTime(now) <= deadline) return
    // One that is refused (the lead is being given away) is not tried again sooner either.
    this.#lastAppendAt = now
    const proposal = raft.propose('empty', NOTHING, now)
    if (!proposal.ok) return
    this.#ports.run(proposal.effects)
  }

  /** ms until `tick` has an entry to propose, as far as is known now; what is applied next may bring it nearer. */
  untilTick(now: number, applied: number, nextDeadline: () => number | undefined): number {
    const { raft } = this.#ports
    if (raft.role !== 'leader' || applied < raft.lastIndex) return Number.POSITIVE_INFINITY
    const deadline = nextDeadline() ?? Number.POSITIVE_INFINITY
    return Math.max(this.#lastAppendAt + TICK_ENTRY_MS - now, deadline + 1 - raft.clusterTime(now))
  }

  applied(entries: readonly Entry[], results: readonly Applied[]): void {
    for (let i = 0; i < entries.length; i++)
      this.#proposals.answer(entries[i] as Entry, results[i]?.answers ?? [])
  }

  abandon(reason: Refusal): void {
    this.#proposals.abandon(reason)
  }
}

function refusal(reason: string): Refusal {
  return reason === 'too-large' || reason === 'busy' ? reason : 'not-leader'
}
