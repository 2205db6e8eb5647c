// Driver: makes a leader's proposals: entries with the waiting commands, and empty entries that only advance
// cluster time.
//
// Laws
//   - commands that arrive while the log is being written share the next entry.
//   - commands wait during a leadership transfer. After the transfer the commands are proposed, or refused if
//     another member leads (E17).

import type { Effect, Entry, Proposal, Raft } from '../core/index.js'
import type { NodeCounters } from './node-counters.js'
import type { Applied } from './state-machine-interface.js'
import {
  type Batch,
  type Done,
  type LogRecord,
  Proposals,
  type ProposalCaps,
  type Refusal,
  tell,
} from './callers-waiting-for-entries.js'

/**
 * In ms, the shortest time between two entries that only advance cluster time (CT4). Every member must write
 * and sync each of these entries.
 */
const TICK_ENTRY_MS = 50
/**
 * In ms, the shortest time between two entries that only advance cluster time, if `nextDeadline()` of the
 * state machine is more than TICK_ENTRY_MS ago. This happens if a million keys expire together. One entry
 * removes only a limited number of the keys, so the other expired keys wait for further entries.
 */
const BACKLOG_ENTRY_MS = 2
const NOTHING = new Uint8Array(0)

interface ProposerPorts {
  readonly raft: Raft
  readonly caps: ProposalCaps
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
   * Proposes an empty entry when a deadline of the state machine has passed. The entry advances cluster time,
   * and the state machine removes what has expired when it applies the entry (CT4). Nothing is proposed while
   * other entries wait to be applied.
   */
  tick(now: number, applied: number, nextDeadline: () => number | undefined): void {
    const { raft } = this.#ports
    if (raft.role !== 'leader' || applied < raft.lastIndex) return
    if (now - this.#lastAppendAt < BACKLOG_ENTRY_MS) return
    const deadline = nextDeadline()
    if (deadline === undefined || raft.clusterTime(now) <= deadline) return
    if (now - this.#lastAppendAt < this.#pause(now, deadline)) return
    // The time is noted even if the proposal is refused during a leadership transfer. So the next attempt
    // waits too.
    this.#lastAppendAt = now
    const proposal = raft.propose('empty', NOTHING, now)
    if (!proposal.ok) return
    this.#ports.run(proposal.effects)
  }

  /**
   * Returns in how many ms `tick` can propose an entry. Infinity means that `tick` has nothing to propose.
   * The caller calls this method again after each applied entry, because the entry's commands may have set an
   * earlier deadline.
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
      const answered = this.#proposals.answer(entry, results[i]?.answers ?? [])
      if (answered === undefined) continue
      counters.committed += answered.callers.dones.length
      counters.commit.observe((now() - answered.at) / 1000)
    }
  }

  abandon(reason: Refusal): void {
    this.#proposals.abandon(reason, this.#ports.counters)
  }
}

function refusal(reason: string): Refusal {
  return reason === 'too-large' || reason === 'busy' ? reason : 'not-leader'
}
