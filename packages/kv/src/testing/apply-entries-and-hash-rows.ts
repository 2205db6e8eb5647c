// Driver: state machines that apply entries, and hashes of their states, for the tests of crashes, snapshots
// and replicas.

import type { Entry } from '@latchkey/raft/core'
import { KvMachine } from '../key-value-state-machine.js'
import { META_KEY, SPACE, numberIn } from '../keyspaces.js'
import { storedChecksum } from '../storage/stored-row-checksum.js'
import type { RowStorage, RowStore } from '../storage/row-store-interface.js'
import { pagesOf } from '../storage/scan-rows.js'
import { groupSums } from '../state/events-of-sixteen-revisions.js'
import { decodeMeta } from '../state/meta-row.js'
import { RowSetHash } from '../state/row-set-hash.js'
import type { KvLimits, StateHash } from '../kv-store-types.js'
import { HandClock, MEMBERS } from './state-machine-with-own-log.js'

export const SMALL_LIMITS: Partial<KvLimits> = { events: 60, eventBytes: 20_000 }

export const newMachine = (storage: RowStorage, limits: Partial<KvLimits> = SMALL_LIMITS): KvMachine =>
  new KvMachine({ storage, clock: new HandClock(), nextTurn: setImmediate, limits })

export async function applyAll(machine: KvMachine, entries: readonly Entry[]): Promise<Buffer[][]> {
  const applied = await machine.apply(entries, () => MEMBERS)
  return applied.map(({ answers }) => (answers ?? []).map(({ bytes }) => Buffer.from(bytes)))
}

/** The state hash after each entry of a machine without faults, by the index of the entry. */
export async function hashesOf(storage: RowStorage, entries: readonly Entry[]): Promise<StateHash[]> {
  const machine = newMachine(storage)
  await machine.open()
  const hashes = [machine.stateHash()]
  for (const entry of entries) {
    await applyAll(machine, [entry])
    hashes.push(machine.stateHash())
  }
  await machine.close()
  return hashes
}

/** The hash of the stored rows of each key space, computed without any table in memory. */
export async function hashOfRows(store: RowStore): Promise<Record<string, string>> {
  const names = new Map<number, string>(Object.entries(SPACE).map(([name, space]) => [space, name]))
  const sums = new Map([...names.values()].map((name) => [name, new RowSetHash()]))
  const { floor } = decodeMeta(store.get(META_KEY) as Uint8Array).events
  const view = store.view()
  for await (const page of pagesOf(view, { start: undefined, end: undefined })) {
    for (const { key, value } of page) {
      const name = names.get(key[0] as number) as string
      if (name !== 'events') sums.get(name)?.add(storedChecksum(value))
      else if (key[8] === 0) {
        for (const hash of groupSums(numberIn(key, 1), value, floor).hashes) sums.get(name)?.add(hash)
      }
    }
  }
  view.close()
  return Object.fromEntries([...sums].map(([name, sum]) => [name, sum.toString()]))
}
