// Rule: random log entries with every kind of command. The same seed always gives the same entries.

import { type Random, seededRandom, utf8 } from '@latchkey/base'
import {
  type Command,
  type FlowArg,
  type InnerCommand,
  KIND,
  OP,
  type Step,
  encodeCommand,
  lockKeyOf,
} from '@latchkey/protocol'
import type { Entry } from '@latchkey/raft/core'
import { type CommandRecord, encodeBatch } from '../commands/log-entry-records.js'

const SESSIONS = 4

export interface Workload {
  readonly entries: readonly Entry[]
}

/**
 * The first entries open sessions. Then come `length` entries of a few commands each, with retries and
 * pauses. `kinds` draws the commands.
 */
export function drawWorkload(seed: number | string, length: number, kinds = KINDS): Entry[] {
  const random = seededRandom(seed)
  const entries: Entry[] = []
  let time = 1_000
  const add = (kind: Entry['kind'], data: Uint8Array) =>
    entries.push({ index: entries.length + 1, term: 1, time, kind, data })
  for (let i = 0; i < SESSIONS; i++) {
    const life = random.pick([2_000, 30_000, 3_600_000])
    add(
      'commands',
      encodeBatch([{ session: 0, number: 0, done: 0, body: encodeCommand([OP.openSession, life]) }]),
    )
  }
  const numbers = new Array<number>(SESSIONS + 1).fill(0)
  const sent: CommandRecord[] = []
  for (let i = 0; i < length; i++) {
    time += random.chance(0.02) ? random.between(0, 40_000) : random.between(0, 400)
    if (random.chance(0.1)) add('empty', new Uint8Array(0))
    else add('commands', encodeBatch(drawRecords(random, numbers, sent, kinds)))
  }
  return entries
}

function drawRecords(
  random: Random,
  numbers: number[],
  sent: CommandRecord[],
  kinds: readonly DrawCommand[],
): CommandRecord[] {
  return Array.from({ length: random.between(1, 6) }, () => {
    if (sent.length > 0 && random.chance(0.15)) return random.pick(sent)
    const session = random.between(1, SESSIONS + 1)
    const number = (numbers[session] as number) + 1
    numbers[session] = number
    const done = random.chance(0.5) ? Math.max(0, number - random.between(0, 20)) : 0
    const record = { session, number, done, body: drawBody(random, number, kinds) }
    sent.push(record)
    return record
  })
}

function drawBody(random: Random, number: number, kinds: readonly DrawCommand[]): Uint8Array {
  // No MessagePack value begins with 0xc1, so this command is malformed. An array with an unknown operation
  // would rightly stop the member.
  if (random.chance(0.03)) return Uint8Array.of(0xc1, random.between(0, 256))
  return encodeCommand(random.pick(kinds)(random, number))
}

const key = (random: Random) => utf8(`k${random.between(0, 30)}`)
const lockKey = (random: Random) => utf8(`l${random.between(0, 4)}`)
const semaphore = (random: Random) => lockKeyOf(KIND.semaphore, utf8(`s${random.between(0, 3)}`))
const meetingName = (random: Random) => utf8(`m${random.between(0, 2)}`)
const holder = (random: Random) => `h${random.between(0, 8)}`
const value = (random: Random) => utf8('v'.repeat(random.between(0, random.chance(0.05) ? 3_000 : 40)))
const range = (random: Random) => [key(random), key(random)] as const

function drawStep(random: Random): Step {
  const [start, end] = range(random)
  return random.pick<Step>([
    [5, key(random), random.between(-3, 9)],
    [0, key(random), value(random)],
    [0, key(random), value(random), random.pick([0, 200, 3_000])],
    [1, key(random), value(random)],
    [2, key(random)],
    [3, start, end],
  ])
}
const steps = (random: Random) => Array.from({ length: random.between(0, 5) }, () => drawStep(random))

function set(r: Random, wait: number | null): Command {
  const [first, count] = [r.between(0, 3), r.between(1, 3)]
  const list = Array.from(
    { length: count },
    (_, i) => [utf8(`l${(first + i) % 5}`), r.pick([0, 0, 1])] as const,
  )
  return [OP.tryLockAll, holder(r), list, r.pick([null, utf8('fence')]), r.between(50, 5_000), null, wait]
}

type DrawCommand = (random: Random, number: number) => Command

const KINDS: readonly DrawCommand[] = [
  (r) => [OP.put, null, key(r), value(r)],
  (r) => [OP.put, null, key(r), value(r)],
  (r) => [OP.put, [lockKey(r), r.between(1, 20)], key(r), value(r)],
  (r) => [OP.put, [r.chance(0.5) ? lockKey(r) : semaphore(r), r.between(1, 20), true], key(r), value(r)],
  (r) => [
    OP.putAll,
    null,
    [
      [key(r), value(r)],
      [key(r), value(r)],
    ],
  ],
  (r) => [OP.putIfAbsent, null, key(r), value(r)],
  (r) => [OP.getAndPut, null, key(r), value(r)],
  (r) => [
    OP.compareAndPutAll,
    null,
    [
      [key(r), null, value(r)],
      [key(r), null, null],
    ],
  ],
  (r) => [OP.merge, null, key(r), value(r)],
  (r) => [OP.put, null, key(r), value(r), r.pick([0, 1, 50, 700, 5_000])],
  (r) => [OP.put, null, key(r), value(r), r.between(1, 9_000)],
  (r) => [OP.put, null, key(r), value(r), 0],
  (r) => [OP.touch, null, key(r), r.between(1, 3_000)],
  (r) => [OP.increment, null, key(r), r.between(-5, 100)],
  (r) => [OP.deleteAll, null, [key(r), key(r)]],
  (r) => [OP.deleteRange, null, ...range(r)],
  (r) => [OP.batch, null, steps(r)],
  (r) => [OP.txn, null, [[1, 3, key(r), 1]], steps(r), steps(r)],
  (r) => [OP.nextSequence, null, key(r), r.between(1, 9)],
  (r) => [OP.resetSequence, null, key(r)],
  (r) => lock(r, null),
  (r) => lock(r, r.between(0, 3_000)),
  (r) => lock(r, 0),
  (r) => [OP.release, lockKey(r), holder(r), 0, r.chance(0.5)],
  (r) => [OP.release, lockKey(r), holder(r), 0, r.chance(0.5)],
  (r) => [OP.renew, [[lockKey(r), holder(r), 0, r.between(50, 5_000)]]],
  (r) => shared(r, r.pick([null, 0, 2_000])),
  (r) => shared(r, 0),
  (r) => [...attempt(r, lockKey(r), 0), r.pick([null, [1, 0]]), flow(r)],
  (r) => permits(r, r.pick([null, 0, 2_000])),
  (r) => permits(r, 0),
  (r) => [OP.release, semaphore(r), holder(r), 0, r.chance(0.5)],
  (r) => [OP.downgrade, lockKey(r), holder(r), 0],
  (r) => [OP.resize, semaphore(r), r.between(1, 6)],
  (r) => [OP.steal, lockKeyOf(KIND.webLock, lockKey(r)), holder(r), r.between(50, 5_000), null],
  (r) => [OP.rotate, r.chance(0.5) ? lockKey(r) : semaphore(r), holder(r), 0],
  (r) => [OP.proclaim, lockKey(r), holder(r), 0, r.pick([null, 'new', utf8('said')])],
  (r) => [OP.cancelWait, r.chance(0.5) ? lockKey(r) : semaphore(r), holder(r)],
  (r) => [
    OP.releaseAll,
    [
      [lockKey(r), holder(r)],
      [lockKey(r), holder(r)],
    ],
  ],
  (r) => set(r, null),
  (r) => set(r, r.pick([0, 2_000])),
  (r) => [OP.forceRelease, lockKey(r), r.between(1, 20)],
  (r) => [OP.createLatch, meetingName(r), r.between(0, 5)],
  (r) => [OP.countDown, meetingName(r), r.between(1, 3)],
  (r) => [OP.removeLatch, meetingName(r)],
  (r) => [OP.waitLatch, meetingName(r), holder(r), r.pick([0, 0, 500, 3_000])],
  (r) => [OP.enterBarrier, meetingName(r), holder(r), r.pick([1, 2, 3, 3]), r.pick([0, 500, 3_000])],
  (r) => [OP.enterBarrier, meetingName(r), holder(r), 3, 0],
  (r) => [
    OP.leaveParties,
    [
      [0, meetingName(r), holder(r)],
      [1, meetingName(r), holder(r)],
    ],
  ],
  (r) => [OP.moveParty, r.pick([0, 1]), meetingName(r), holder(r)],
  (r, number) => [OP.cancelCall, number + r.between(0, 3)],
  () => [OP.keepAlive],
]

/** All kinds, and many commands that are applied only once. The rows of format 1 depend on KINDS alone. */
export const KINDS_WITH_ONCE: readonly DrawCommand[] = [
  ...KINDS,
  ...Array.from({ length: 12 }, (): DrawCommand => drawOnce),
]

function drawOnce(r: Random): Command {
  const command = r.pick<InnerCommand>([
    [OP.touch, null, key(r), r.between(1, 3_000)],
    [OP.nextSequence, null, key(r), r.between(1, 9)],
    [OP.resetSequence, [lockKey(r), r.between(1, 20)], key(r)],
    [OP.rotate, lockKey(r), holder(r), 0],
    [OP.downgrade, lockKey(r), holder(r), 0],
    [OP.proclaim, lockKey(r), holder(r), 0, 'new'],
    [OP.resize, semaphore(r), r.between(1, 6)],
    [OP.createLatch, meetingName(r), r.between(0, 5)],
    [OP.countDown, meetingName(r), r.between(1, 3)],
    [OP.removeLatch, meetingName(r)],
  ])
  const life = r.pick([400, 20_000])
  return [OP.applyOnce, [utf8(`once${r.between(0, 9)}`), utf8(`digest${r.between(0, 2)}`), life], command]
}

const shared = (r: Random, wait: number | null): Command => [...attempt(r, lockKey(r), wait), [1, 0]]
const permits = (r: Random, wait: number | null): Command => [
  ...attempt(r, semaphore(r), wait),
  [r.between(1, 4), r.chance(0.8) ? 3 : 4],
]
const flow = (r: Random): FlowArg => [r.pick([null, 'F', 'G']), r.chance(0.5) ? [holder(r)] : []]
const lock = (r: Random, wait: number | null): Command => attempt(r, lockKey(r), wait)
const attempt = (r: Random, key: Uint8Array, wait: number | null) =>
  [
    OP.tryLock,
    key,
    r.chance(0.3) ? utf8('f') : null,
    r.chance(0.1),
    holder(r),
    r.between(50, 5_000),
    0,
    r.pick([null, 'context', utf8('bytes')]),
    wait,
  ] as const
