// Driver: reports to the laws what the event loop of one process does: calls of the core, effects, and
// durable batches.

import type { Effect, MemberId, Message, PersistBatch, Raft } from '@latchkey/raft/core'
import type { LoopObserver, Replica } from '@latchkey/raft/node'
import type { LawChecker } from './law-checker.js'
import type { RecoveredState } from './law-events.js'

interface ObserverPorts {
  readonly laws: LawChecker
  readonly checkInvariants: ((raft: Raft) => void) | undefined
  /** Runs a check of the laws if the process is alive. */
  judge(part: () => void): void
  note(line: () => string): void
  takenAt(reading: number): number
}

export function recoveredState({ node }: Replica): RecoveredState {
  const { log, configs, vote, term } = node.raft.state
  return {
    term,
    vote,
    base: log.start,
    membership: configs.at(log.start.index),
    entries: node.raft.entries(log.firstIndex, log.lastIndex),
    applied: node.applied.position.index,
  }
}

export function observeLoop(id: MemberId, ports: ObserverPorts): LoopObserver {
  const { laws } = ports
  /** The real time of the clock reading in the call that made the batch. */
  const askedAt = new WeakMap<PersistBatch, number>()
  return {
    called: (raft, effects) =>
      ports.judge(() => {
        for (const effect of effects)
          if (effect.type === 'persist') askedAt.set(effect.batch, ports.takenAt(raft.state.now))
        // The commit index of a leader never depends on entries of the same call. The commit index of a
        // follower may, so it is reported later.
        if (raft.role === 'leader') laws.decided(id, raft.commit)
      }),
    effect: (effect) => ports.judge(() => tell(id, effect, ports, askedAt)),
    durable: (batchId) => ports.judge(() => laws.durable(id, batchId)),
    settled: (raft) =>
      ports.judge(() => {
        laws.decided(id, raft.commit)
        laws.settled(id)
        ports.checkInvariants?.(raft)
      }),
  }
}

function tell(
  id: MemberId,
  effect: Effect,
  { laws, note }: ObserverPorts,
  askedAt: WeakMap<PersistBatch, number>,
): void {
  switch (effect.type) {
    case 'send':
      note(() => `${id} -> ${effect.message.to} ${describe(effect.message)}`)
      return laws.sending(id, effect.message)
    case 'persist':
      return laws.persisting(id, effect.batch, askedAt.get(effect.batch) ?? 0)
    case 'commit':
      return laws.committed(id, effect.from, effect.to)
    case 'role':
      note(() => `${id} is ${effect.role} of term ${effect.term}`)
      return laws.role(id, effect.role, effect.term)
    case 'membership':
      return laws.membership(id, effect.membership)
    case 'stageSnapshot':
      return laws.staged(id, effect)
    case 'rolledBack':
      return laws.accused(effect.id, effect.acknowledged, effect.holds)
    case 'read':
    case 'readSnapshot':
    case 'endSnapshot':
      return
  }
}

function describe(message: Message): string {
  const { type, from: _from, to: _to, group: _group, ...rest } = message
  const text = JSON.stringify(rest, (key, value: unknown) =>
    key === 'data' || key === 'chunk' ? `${(value as Uint8Array).length} bytes` : value,
  )
  return `${type} ${text}`
}
