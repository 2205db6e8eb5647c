// Driver: a workload with idempotency keys: several clients send and repeat the same requests, and sometimes
// use a key again for another request.

import { type Random, utf8 } from '@latchkey/base'
import type { CallsAppliedOnce, KeptAt } from '@latchkey/client'
import { CODE } from '@latchkey/lock'
import { KIND, lockKeyOf, OP, type OwnerResult } from '@latchkey/protocol'
import { LawBroken } from '../../laws/verdict.js'
import { type AppliedOnce, type Counter, COUNTERS, type CountRequest } from '../laws/applied-once.js'
import { SHARED_PREFIX } from '../laws/shared-locks.js'
import type { WholeWorld } from '../whole-world.js'
import type { Client } from './client.js'

const SEQUENCE = 'once/sequence'
const NUMBER = 'once/number'
const LATCH = 'once/latch'
/** More than any run counts down. */
const COUNT = 1_000_000
const LOCK = lockKeyOf(KIND.lock, utf8(`${SHARED_PREFIX}once`))
/** The lock has its own counter of tokens, so that only its rotations change the counter. */
const FENCING_KEY = utf8('once/tokens')
/** All clients use the same hold, so that they can repeat the rotations of each other. */
const OWNER = 'owner'
/** In ms. Longer than a run, so that no hold and no kept answer ends. */
const DAY = 24 * 60 * 60 * 1000

interface Limits {
  readonly timeout: number
}

/** Each function returns the value of its counter before the request. */
const COUNTS: Readonly<
  Record<Counter, (calls: CallsAppliedOnce<'string'>, by: number, limits: Limits) => Promise<number>>
> = {
  sequence: async (calls, by, limits) => (await calls.getSequence(SEQUENCE, by, limits)).start,
  latch: async (calls, by, limits) => COUNT - by - (await calls.latches.countDown(LATCH, by, limits)),
  number: async (calls, by, limits) => {
    const { results } = await calls.txn({ then: [{ type: 'increment', key: NUMBER, by }] }, limits)
    return (results[0] as number) - by
  },
  token: async ({ lockPort }, _, limits) => {
    const owner = (await lockPort.command([OP.rotate, LOCK, OWNER, 0], limits).result) as OwnerResult
    if (owner[6] !== CODE.KEEP_LEASE)
      throw new LawBroken('the present hold', `the hold is gone: ${JSON.stringify(owner)}`)
    // The first token is 1, and the first rotation changes it to 2.
    return owner[3] - 2
  },
}

const keptAt = (key: string): KeptAt => ({ key: utf8(`once/kept/${key}`), life: DAY })

export async function idempotencyWorker(world: WholeWorld, client: Client): Promise<void> {
  const { records, random } = client
  let isReady = false
  while (await client.goesOn()) {
    const limits = { timeout: random.pick([300, 1_000, 5_000]) }
    try {
      if (isReady) await send(world, client, draw(world.idempotency, random), limits)
      else await createCounters(client, limits)
      isReady = true
      records.done++
    } catch (error) {
      records.time.print.addText(records.fault(error).code)
    }
  }
}

/** Each client calls this function. The key makes the cluster create the latch only once. */
async function createCounters({ store }: Client, limits: Limits): Promise<void> {
  if (!(await store.appliedOnce(keptAt('create')).latches.create(LATCH, COUNT, limits)))
    throw new LawBroken('the same answer', 'a repeated creation of the latch has another answer')
  await store.lockPort.command([OP.tryLock, LOCK, FENCING_KEY, false, OWNER, DAY, 0, null, null], limits)
    .result
}

type KeyAndRequest = readonly [key: string, request: CountRequest]

/** Clients often repeat one of the last keys, sometimes any key, and sometimes with another request. */
function draw(idempotency: AppliedOnce, random: Random): KeyAndRequest {
  const { keys } = idempotency
  if (keys.length === 0 || random.chance(0.3)) return [`${keys.length}`, drawRequest(random)]
  const key = random.pick(random.chance(0.7) ? keys.slice(-5) : keys)
  const first = random.chance(0.15) ? undefined : idempotency.firstRequest(key)
  return [key, first ?? drawRequest(random)]
}

function drawRequest(random: Random): CountRequest {
  const counter = random.pick(COUNTERS)
  return { counter, by: counter === 'token' ? 1 : random.between(1, 4) }
}

async function send(
  { idempotency }: WholeWorld,
  { store, records }: Client,
  [key, request]: KeyAndRequest,
  limits: Limits,
): Promise<void> {
  const { time } = records
  const call = idempotency.begins(key, request, time.instant())
  try {
    call.before = await COUNTS[request.counter](store.appliedOnce(keptAt(key)), request.by, limits)
    call.end = time.instant()
    call.state = 'answered'
    time.print.addText(`${key}=${call.before}`)
  } catch (error) {
    const { code, outcome } = error as { code?: string; outcome?: string }
    if (code === 'ERR_MISMATCH') call.state = 'mismatch'
    else {
      if (outcome === 'not-applied') call.state = 'refused'
      throw error
    }
  }
}

/** Called after the faults. Repeats every request that may have been applied, and reads the counters. */
export async function endIdempotency(world: WholeWorld, client: Client, limits: Limits): Promise<void> {
  const { idempotency } = world
  await createCounters(client, limits)
  await Promise.all(idempotency.possible.map((one) => send(world, client, one, limits)))
  // One more request without a key shows the value before it.
  for (const counter of COUNTERS)
    idempotency.finals.set(counter, await COUNTS[counter](client.store, 1, limits))
}
