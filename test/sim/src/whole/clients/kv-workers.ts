// Driver: workloads with keys: all kinds of calls with unique words, sequences, and watches.

import type { WatchEvent } from '@latchkey/protocol'
import { WatchHistory } from '../laws/sequences-and-watches.js'
import { ALL_EVENTS } from '../options.js'
import type { Client } from './client.js'

export const KEY_PREFIX = 'kv/'
const MERGED = 'm/'

export const keyNames = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => `${KEY_PREFIX}${i}`)
export const mergedNames = [`${KEY_PREFIX}${MERGED}0`]

export async function keysWorker(client: Client): Promise<void> {
  const { records, random } = client
  const keys = keyNames(records.options.keys)
  while (await client.goesOn()) {
    await anyCall(client, random.pick(keys))
  }
}

async function anyCall({ name, store, random, records }: Client, key: string): Promise<void> {
  const word = records.word()
  const timeout = random.pick([300, 1_000, 5_000])
  const signal = random.chance(0.03) ? abortedSoon() : undefined
  const options = { timeout, signal }
  switch (random.between(0, 9)) {
    case 0:
    case 1:
      await records.record(name, key, 'put', { word }, () => store.put(key, word, options))
      return
    case 2:
      await records.record(name, key, 'getAndPut', { word }, () => store.getAndPut(key, word, options))
      return
    case 3:
      await records.record(name, key, 'putIfAbsent', { word }, () => store.putIfAbsent(key, word, options))
      return
    case 4:
      await records.record(name, key, 'delete', {}, () => store.delete(key, options))
      return
    case 5:
      await records.record(name, key, 'merge', { word }, () => store.merge(key, word, options))
      return
    case 6: {
      const seen = await records.record(name, key, 'get', {}, () => store.get(key, { timeout }))
      if (seen.end === Number.POSITIVE_INFINITY) return
      const expect = seen.result as string | undefined
      await records.record(name, key, 'cas', { word, expect }, () =>
        store.compareAndPut(key, expect, word, options),
      )
      return
    }
    default:
      await records.record(name, key, 'get', {}, () => store.get(key, { timeout }))
  }
}

/** Returns a signal that aborts after the first steps of the call. */
function abortedSoon(): AbortSignal {
  const abort = new AbortController()
  queueMicrotask(() => abort.abort())
  return abort.signal
}

/** Only appends words, so the value itself shows what happened. */
export async function mergeWorker(client: Client): Promise<void> {
  const { name, store, random, records } = client
  while (await client.goesOn()) {
    const [key = ''] = mergedNames
    const word = records.word()
    if (random.chance(0.8))
      await records.record(name, key, 'merge', { word }, () => store.merge(key, word, { timeout: 2_000 }))
    else await records.record(name, key, 'get', {}, () => store.get(key, { timeout: 2_000 }))
  }
}

export async function sequenceWorker(client: Client): Promise<void> {
  const { store, random, records } = client
  while (await client.goesOn()) {
    const call = records.time.instant()
    try {
      const { start, end } = await store.getSequence('seq', random.between(1, 9), { timeout: 2_000 })
      records.sequences.given('seq', start, end, call, records.time.instant())
    } catch (error) {
      records.fault(error)
    }
  }
}

/**
 * Reads events until the run is over. After an error of the watch, the reader continues after its last event.
 * A reader that fell too far behind begins a new watch.
 */
export async function watchWorker(client: Client): Promise<void> {
  const { records, store } = client
  let story = newStory(client)
  for (;;) {
    try {
      const from = story.revision === 0 ? undefined : story.revision + 1
      for await (const event of store.watch({ prefix: KEY_PREFIX, from })) tell(client, story, event)
    } catch (error) {
      if (records.options.events < ALL_EVENTS && (error as { code?: string }).code === 'ERR_COMPACTED') {
        story.compacted()
        story = newStory(client)
      } else {
        records.fault(error)
        story.refused()
      }
    }
    await client.sleep(1 + client.random.float() * 60)
  }
}

function newStory(client: Client): WatchHistory {
  const story = new WatchHistory(`the watch of ${client.name}`, {
    died: () => client.life.dead,
    stranded: () => client.isStranded,
    untold: () => client.isUntold,
  })
  client.records.watches.push(story)
  return story
}

function tell({ records }: Client, story: WatchHistory, event: WatchEvent<'string'>): void {
  try {
    story.saw(event)
  } catch (error) {
    records.time.fail(error)
  }
}
