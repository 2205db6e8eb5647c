// Driver: makes a leader's proposals: the gathered commands as one entry, or an empty entry if only cluster
// time must advance.
//
// Laws
//   - commands that arrive while the log is being written go into the next entry together
//   - during a leadership transfer commands wait. After the transfer they are proposed, or refused as never
//     proposed (E17)

import type { Effect, Entry, Proposal, Raft } from '../core/index.js'
import type { NodeCounters } from './node-counters.js'
import type { Applied } from './state-machine.js'
import {
  type Batch,
  type Done,
  type LogRecord,
  Proposals,
  type ProposalCaps,
  type Refusal,
  tell,
} from './callers-of-entries.js'

/** In ms, the least time between two entries that only advance cluster time (CT4). */
const TICK_ENTRY_MS = 50
/**
 * In ms, the least time between two such entries if a deadline has been over for longer than TICK_ENTRY_MS.
 * Then the entry before was for that deadline too, and could not do all the work of the deadline, such as a
 * million keys that expire. The next entry follows as soon as the entry before is applied.
 */
const BACKLOG_ENTRY_MS = 2
const NOTHING = new Uint8Array(0)

interface ProposerPorts {
  readonly raft: Raft
  readonly caps: ProposalCaps
  /** True if the log is not being written. */
  readonly idle: () => boolean
  readonly now: () => number
  readonly run: (effects: readonly Effect[]) => void
  readonly counters: NodeCounters
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

  get pending(): number {
    return this.#proposals.gathered + this.#proposals.inFlight
  }

  add(record: LogRecord, done: Done, alone: boolean, ticket: number): Refusal | undefined {
    if (this.#ports.raft.role !== 'leader') return 'not-leader'
    return this.#proposals.add(record, done, alone, ticket)
  }

  /** Proposes all gathered commands as one entry, if an entry may be proposed now. */
  pump(): void {
    const { raft, idle, now, counters } = this.#ports
    while (this.#proposals.gathered > 0 && raft.role === 'leader' && idle() && !raft.transferring) {
      const batch = this.#proposals.take()
      if (batch === undefined) return
      const at = now()
      const proposal = this.#propose(batch, at)
      if (!proposal.ok) {
        counters.refused += batch.callers.dones.length
        tell(batch.callers, { type: 'refused', reason: refusal(proposal.reason) })
        continue
      }
      this.#proposals.proposed(proposal.index, proposal.term, batch, at)
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

  /**
   * Proposes an entry that only advances the time. The state machine decides what expires when it applies the
   * entry (CT4). While entries wait to be applied, no such entry is proposed.
   */
  tick(now: number, applied: number, nextDeadline: () => number | undefined): void {
    const { raft } = this.#ports
    if (raft.role !== 'leader' || applied < raft.lastIndex) return
    if (now - this.#lastAppendAt < BACKLOG_ENTRY_MS) return
    const deadline = nextDeadline()
    if (deadline === undefined || raft.clusterTime(now) <= deadline) return
    if (now - this.#lastAppendAt < this.#pause(now, deadline)) return
    // A proposal that is refused during a leadership transfer is not tried again earlier than a proposal that
    // succeeds.
    this.#lastAppendAt = now
    const proposal = raft.propose('empty', NOTHING, now)
    if (!proposal.ok) return
    this.#ports.run(proposal.effects)
  }

  /**
   * Returns the time in ms until `tick` has an entry to propose, as far as this member knows now. An entry
   * that is applied later may shorten this time.
   */
  untilTick(now: number, applied: number, nextDeadline: () => number | undefined): number {
    const { raft } = this.#ports
    if (raft.role !== 'leader' || applied < raft.lastIndex) return Number.POSITIVE_INFINITY
    const deadline = nextDeadline() ?? Number.POSITIVE_INFINITY
    const pause = this.#pause(now, deadline)
    return Math.max(this.#lastAppendAt + pause - now, deadline + 1 - raft.clusterTime(now))
  }

  #pause(now: number, deadline: number): number {
    const over = this.#ports.raft.clusterTime(now) - deadline
    return over > TICK_ENTRY_MS ? BACKLOG_ENTRY_MS : TICK_ENTRY_MS
  }

  applied(entries: readonly Entry[], results: readonly Applied[]): void {
    const { counters, now } = this.#ports
    for (const [i, entry] of entries.entries()) {
      const settled = this.#proposals.answer(entry, results[i]?.answers ?? [])
      if (settled === undefined) continue
      counters.committed += settled.callers.dones.length
      counters.commit.observe((now() - settled.at) / 1000)
    }
  }

  abandon(reason: Refusal): void {
    this.#proposals.abandon(reason, this.#ports.counters)
  }
}

function refusal(reason: string): Refusal {
  return reason === 'too-large' || reason === 'busy' ? reason : 'not-leader'
}
