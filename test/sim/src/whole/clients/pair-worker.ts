// Driver: a workload with two keys that are always written together, by every call that changes or reads
// several keys. The keys are one register. A read with two different values has seen the middle of an atomic
// step.

import type { WriteOp } from '@latchkey/protocol'
import { LawBroken } from '../../laws/verdict.js'
import type { KeyCall } from '../laws/key-call.js'
import type { Client } from './client.js'

export const PAIR_PREFIX = 'pair/'
export const PAIR_KEYS = [`${PAIR_PREFIX}0`, `${PAIR_PREFIX}1`]
const NAME = 'pair'

interface Limit {
  readonly timeout: number
}

export async function pairWorker(client: Client): Promise<void> {
  while (await client.goesOn()) {
    // All clients use one register. The pause limits the number of calls, so that the search for an order
    // ends.
    await client.sleep(client.random.between(20, 300))
    await anyStep(client, { timeout: client.random.pick([300, 2_000]) })
  }
}

async function anyStep(client: Client, limit: Limit): Promise<void> {
  const { name, store, random, records } = client
  const word = records.word()
  const puts = PAIR_KEYS.map((key): WriteOp => ({ type: 'put', key, value: word }))
  const write = (run: () => Promise<unknown>) => records.record(name, NAME, 'put', { word }, run)
  switch (random.between(0, 8)) {
    case 0:
      await write(() =>
        store.putAll(
          PAIR_KEYS.map((key) => ({ key, value: word })),
          limit,
        ),
      )
      return
    case 1:
      await write(() =>
        store.batch([{ type: 'deleteRange', start: PAIR_PREFIX, end: 'pair0' }, ...puts], limit),
      )
      return
    case 2:
      await records.record(name, NAME, 'delete', {}, async () =>
        half(await store.deleteAll(PAIR_KEYS, limit)),
      )
      return
    case 3:
      await records.record(name, NAME, 'delete', {}, async () =>
        half(await store.deleteRange(PAIR_PREFIX, 'pair0', limit)),
      )
      return
    case 4:
      return compare(client, limit, word, (expect) =>
        store.compareAndPutAll(
          PAIR_KEYS.map((key) => ({ key, expect, update: word })),
          limit,
        ),
      )
    case 5:
      return compare(client, limit, word, async (expect) => {
        const when = PAIR_KEYS.map((key) => ({ key, value: expect }))
        return (await store.txn({ when, then: puts, else: [] }, limit)).succeeded
      })
    default:
      await see(client, limit)
  }
}

/** Replaces the read value if it is still the present value. */
async function compare(
  client: Client,
  limit: Limit,
  word: string,
  run: (expect: string | undefined) => Promise<boolean>,
): Promise<void> {
  const seen = await see(client, limit)
  if (seen.end === Number.POSITIVE_INFINITY) return
  const expect = seen.result as string | undefined
  await client.records.record(client.name, NAME, 'cas', { word, expect }, () => run(expect))
}

const half = (count: number): number => {
  if (count !== 0 && count !== PAIR_KEYS.length)
    throw new LawBroken('atomic steps', `${count} of the two were removed`)
  return count / PAIR_KEYS.length
}

function see(client: Client, limit: Limit): Promise<KeyCall> {
  const { name, records, random } = client
  const read = random.pick([byKeys, byScan, byIteration])
  return records.record(name, NAME, 'get', {}, async () => whole(await read(client, limit)))
}

function whole([first, second]: readonly (string | undefined)[]): string | undefined {
  if (first !== second) throw new LawBroken('atomic steps', `one holds ${first}, the other ${second}`)
  return first
}

type Values = Promise<readonly (string | undefined)[]>

async function byKeys({ store }: Client, limit: Limit): Values {
  return (await store.multiGet(PAIR_KEYS, limit)) as readonly (string | undefined)[]
}

async function byScan({ store }: Client, limit: Limit): Values {
  const found = await store.scan({ prefix: PAIR_PREFIX }, limit)
  return found.map(({ value }) => value as string)
}

/** Reads from a view. If the view is gone, there is no answer. */
async function byIteration(client: Client, limit: Limit): Values {
  const values: string[] = []
  try {
    for await (const { value } of client.store.entries({ prefix: PAIR_PREFIX }, limit))
      values.push(value as string)
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_COMPACTED') throw error
    return byKeys(client, limit)
  }
  return values
}
