// Driver: makes many random calls to a lock engine at the same time, and checks the answers. At no moment of
// the engine's clock may two holds of one lock be in force, and tokens must rise.

import { newId, seededRandom, utf8 } from '@latchkey/base'
import type { EngineHold, LockEngine } from '@latchkey/lock'
import { pause } from './wait-helpers.js'

export interface HistoryOptions {
  /** The total number of calls of the engine. */
  readonly operations: number
  /** The number of callers. Default: 8 for each engine. */
  readonly callers?: number
  /** The number of locks. Default: 4. */
  readonly keys?: number
  /** The same seed makes the same calls. The engine may still receive the calls in another order. */
  readonly seed?: string
}

export interface HistoryReport {
  readonly operations: number
  readonly holds: number
  /** The list is empty if the engine made no mistake. */
  readonly violations: readonly string[]
}

/** One hold, as the answers of the engine describe it. All times are times of the engine's clock. */
export interface RecordedHold {
  readonly key: string
  readonly id: string
  readonly token: number
  readonly from: number
  deadline: number
  /**
   * The time at which the holder ended the hold, or the end of the lease if that came earlier. Undefined if
   * the holder did not end the hold.
   */
  endedAt: number | undefined
}

/** In ms: a waiter that does not ask again within this time leaves the queue. */
const PATIENCE = 40
/** In ms: the engine may apply a take until this time has passed since its caller read the engine's clock. */
const BEFORE = 60_000

/**
 * Makes the calls and returns the mistakes. The engines must be clients of the same server. Engines whose
 * `time` is 'client' must share one clock.
 */
export async function engineHistory(
  engines: readonly LockEngine[],
  { operations, callers = 8, keys = 4, seed = newId() }: HistoryOptions,
): Promise<HistoryReport> {
  const keyPrefix = newId()
  const holds: RecordedHold[] = []
  const state = { left: operations }
  const work = engines.flatMap((engine, i) =>
    Array.from({ length: callers }, (_, n) => {
      const random = seededRandom(`${seed}/${i}/${n}`)
      return call(engine, { holds, state, random, keyOf: () => `${keyPrefix}/${random.between(0, keys)}` })
    }),
  )
  await Promise.all(work)
  // Without fencing, the order of tokens has no meaning, so the holds are sorted by their start.
  const isOrdered = engines.every(({ capabilities }) => capabilities.fencing !== 'none')
  return { operations, holds: holds.length, violations: judgeHolds(holds, isOrdered ? 'token' : 'from') }
}

interface Work {
  readonly holds: RecordedHold[]
  readonly state: { left: number }
  readonly random: ReturnType<typeof seededRandom>
  readonly keyOf: () => string
}

async function call(engine: LockEngine, { holds, state, random, keyOf }: Work): Promise<void> {
  while (state.left > 0) {
    const [name, id] = [keyOf(), newId()]
    const key = utf8(name)
    const { now } = await engine.time()
    state.left--
    const request = { key, id, lease: random.between(20, 100), context: null, patience: PATIENCE }
    const queues = random.chance(0.5)
    let taken = await engine.take({ ...request, queues, before: now + BEFORE })
    state.left--
    for (let again = 0; taken.queued && again < 5; again++) {
      await pause(random.between(1, 5))
      taken = await engine.take({ ...request, queues, before: now + BEFORE })
      state.left--
    }
    const { hold: held } = taken
    if (taken.code !== 'HELD' && taken.code !== 'LATE' && held !== undefined) {
      const { token, deadline } = held
      const hold: RecordedHold = { key: name, id, token, from: taken.now, deadline, endedAt: undefined }
      holds.push(hold)
      await use(engine, hold, state, random)
    } else if (taken.queued && random.chance(0.95)) {
      // In the other 5 %, the caller keeps its place in the queue and never asks again, like a crashed
      // process.
      state.left--
      await engine.cancel([{ key, id }])
    } else await pause(1)
  }
}

async function use(
  engine: LockEngine,
  hold: RecordedHold,
  state: { left: number },
  random: ReturnType<typeof seededRandom>,
): Promise<void> {
  const key = utf8(hold.key)
  const { id } = hold
  for (let n = random.between(0, 3); n > 0; n--) {
    state.left--
    const { holds } = await engine.renew([{ key, id, lease: random.between(20, 100) }])
    prolonged(hold, holds[0])
  }
  state.left--
  // Some holds are not released, and end with their leases.
  if (random.chance(0.1)) return
  // Whatever the engine answers, the hold has ended at the time of the answer, and at its deadline at the
  // latest.
  const { now } = random.chance(0.3)
    ? await engine.cancel([{ key, id }])
    : await engine.release(key, id, true)
  hold.endedAt = Math.min(now, hold.deadline + 1)
}

function prolonged(hold: RecordedHold, is: EngineHold | undefined): void {
  if (is !== undefined) hold.deadline = Math.max(hold.deadline, is.deadline)
}

/**
 * Checks that the holds of each lock follow each other in the order of their tokens. No hold may begin before
 * the previous hold has ended.
 */
export function judgeHolds(holds: readonly RecordedHold[], order: 'token' | 'from' = 'token'): string[] {
  const byKey = new Map<string, RecordedHold[]>()
  for (const hold of holds) {
    const of = byKey.get(hold.key)
    if (of === undefined) byKey.set(hold.key, [hold])
    else of.push(hold)
  }
  return [...byKey.values()].flatMap((of) => judgeOne(of, order))
}

function judgeOne(holds: RecordedHold[], order: 'token' | 'from'): string[] {
  const violations: string[] = []
  let before: RecordedHold | undefined
  for (const hold of holds.sort((a, b) => a[order] - b[order])) {
    if (before !== undefined) {
      const over = before.endedAt ?? before.deadline + 1
      if (before.token === hold.token) violations.push(`${hold.key}: the token ${hold.token} was given twice`)
      if (hold.from < over)
        violations.push(
          `${hold.key}: token ${hold.token} was taken at ${hold.from}, while token ${before.token} was in force until ${over}`,
        )
    }
    before = hold
  }
  return violations
}
