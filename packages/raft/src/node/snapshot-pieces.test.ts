// Test: the pieces of snapshots, as a leader reads them and as a receiver stores them, with a state machine of the
// test.

import { expect, test } from 'vitest'
import { SnapshotOut } from './read-snapshot-pieces.js'
import type { AppliedState } from './state-machine-interface.js'
import { SnapshotIn } from './store-snapshot-pieces.js'

const settled = () => new Promise((resolve) => setImmediate(resolve))
const at = (index: number) => ({ position: { index, term: 1, time: 0 } }) as unknown as AppliedState

/** A state machine whose views have these pieces. An error in the list is the error of that read. */
function sender(...pieces: (string | Error)[]) {
  const told: string[] = []
  let [index, closed] = [10, 0]
  let opening: Promise<void> | Error = Promise.resolve()
  const machine = {
    snapshot: async () => {
      if (opening instanceof Error) throw opening
      await opening
      const left = [...pieces]
      return {
        state: at(index++),
        read: async (_most: number) => {
          const next = left.shift()
          if (next instanceof Error) throw next
          return next === undefined ? undefined : Buffer.from(next)
        },
        close: () => void closed++,
      }
    },
  }
  const out = new SnapshotOut({
    machine: machine as never,
    pieceBytes: 3,
    started: (to, from) => told.push(`${to} begins ${from}`),
    piece: (to, { state, offset, chunk, done }) =>
      told.push(
        `${to} ${state.position.index} ${offset} "${Buffer.from(chunk).toString()}"${done ? ' done' : ''}`,
      ),
    failed: (to, error) => told.push(`${to} failed: ${(error as Error).message}`),
  })
  const read = async (to: string, offset: number, of: number | undefined) => {
    out.read(to, offset, of)
    await settled()
    return told.splice(0)
  }
  const openLater = (promise: Promise<void> | Error) => {
    opening = promise
  }
  return { out, read, told, openLater, closed: () => closed }
}

test('a receiver gets its pieces in order, and a piece again when it asks again', async () => {
  const { out, read, closed } = sender('abc', 'de')
  expect(out.oldest()).toBeUndefined()
  expect(await read('b', 0, undefined)).toEqual(['b begins 10', 'b 10 0 "abc"'])
  expect(await read('b', 0, 10)).toEqual(['b 10 0 "abc"'])
  expect(await read('b', 3, 10)).toEqual(['b 10 3 "de"'])
  expect(await read('b', 5, 10)).toEqual(['b 10 5 "" done'])
  expect(await read('b', 5, 10)).toEqual(['b 10 5 "" done'])
  expect([out.oldest(), closed()]).toEqual([10, 0])
  // Another view, or an offset that was never reached, begins anew.
  expect(await read('b', 3, 9)).toEqual(['b begins 11', 'b 11 0 "abc"'])
  expect(await read('b', 1, 11)).toEqual(['b begins 12', 'b 12 0 "abc"'])
  expect([out.oldest(), closed()]).toEqual([12, 2])
})

test('S9: the oldest view of all receivers counts, until its transfer ends', async () => {
  const { out, read, closed } = sender('abc')
  await read('b', 0, undefined)
  await read('c', 0, undefined)
  expect(out.oldest()).toBe(10)
  out.end('b')
  expect([out.oldest(), closed()]).toEqual([11, 1])
  out.end('b')
  out.endAll()
  expect([out.oldest(), closed()]).toEqual([undefined, 2])
})

test('while a view is opened or read, further requests change nothing', async () => {
  const { out, told, openLater } = sender('abc', 'def')
  let open = () => {}
  openLater(new Promise((resolve) => (open = resolve)))
  out.read('b', 0, undefined)
  out.read('b', 0, undefined)
  open()
  await settled()
  expect(told.splice(0)).toEqual(['b begins 10', 'b 10 0 "abc"'])
  out.read('b', 3, 10)
  out.read('b', 3, 10)
  out.read('b', 0, 10)
  await settled()
  expect(told).toEqual(['b 10 3 "def"'])
})

test('a transfer that ends while its view is opened leaves no view open', async () => {
  const { out, told, openLater, closed } = sender('abc')
  let open = () => {}
  openLater(new Promise((resolve) => (open = resolve)))
  out.read('b', 0, undefined)
  out.endAll()
  open()
  await settled()
  expect([told, closed(), out.oldest()]).toEqual([[], 1, undefined])
})

test('errors of the state machine are told, except those that nobody waits for', async () => {
  const { out, read, openLater, told, closed } = sender(new Error('broken'))
  expect(await read('b', 0, undefined)).toEqual(['b begins 10', 'b failed: broken'])
  expect([out.oldest(), closed()]).toEqual([undefined, 1])
  openLater(new Error('no view'))
  expect(await read('b', 0, undefined)).toEqual(['b failed: no view'])
  // After an error the next request begins anew.
  openLater(Promise.resolve())
  expect(await read('b', 0, undefined)).toEqual(['b begins 11', 'b failed: broken'])
  const late = sender('abc', new Error('late'))
  await late.read('b', 0, undefined)
  late.out.read('b', 3, 10)
  late.out.end('b')
  await settled()
  expect([late.told, told]).toEqual([[], []])
})

function receiver(fault?: Error) {
  const told: string[] = []
  let [resume, disk] = [() => {}, Promise.resolve()]
  const machine = {
    receive: async (state: AppliedState) => {
      told.push(`begin ${state.position.index}`)
      return {
        write: async (chunk: Uint8Array) => {
          await disk
          if (fault !== undefined) throw fault
          told.push(`write ${chunk.length}`)
        },
        install: async () => void told.push('install'),
        abort: async () => void told.push('abort'),
      }
    },
  }
  const snapshot = new SnapshotIn({
    machine: machine as never,
    pause: (then) => (resume = then),
    installed: (state) => told.push(`installed ${state.position.index}`),
    failed: (error) => told.push(`failed: ${(error as Error).message}`),
    room: () => told.push('room'),
  })
  const stage = async (index: number, offset: number, bytes: number, done = false) => {
    const { position } = at(index)
    snapshot.stage({ position, membership: {} as never, offset, chunk: new Uint8Array(bytes), done })
    await settled()
    return told.splice(0)
  }
  const hold = () => {
    let go = () => {}
    disk = new Promise((resolve) => (go = resolve))
    return () => go()
  }
  return { snapshot, stage, told, hold, resume: () => resume() }
}

test('pieces are written in their order, and the state is replaced when nothing is being applied', async () => {
  const { snapshot, stage, told, resume } = receiver()
  expect(await stage(10, 0, 3)).toEqual(['begin 10', 'write 3'])
  // A piece that came twice, or out of order, is dropped.
  expect([await stage(10, 1, 3), await stage(10, 9, 3)]).toEqual([[], []])
  expect(await stage(10, 3, 2, true)).toEqual(['write 2'])
  expect(snapshot.receiving).toBe(true)
  resume()
  await snapshot.idle()
  expect([told.splice(0), snapshot.receiving]).toEqual([['install', 'installed 10'], false])
  expect(await stage(10, 5, 3)).toEqual([])
})

test('another snapshot ends the one before it, and one that is given up is not installed', async () => {
  const { snapshot, stage, told, resume } = receiver()
  await stage(10, 0, 3)
  expect(await stage(11, 0, 3)).toEqual(['abort', 'begin 11', 'write 3'])
  await stage(11, 3, 1, true)
  snapshot.abort()
  resume()
  await snapshot.idle()
  expect([told, snapshot.receiving]).toEqual([['abort'], false])
  snapshot.abort()
  await snapshot.idle()
  expect(told).toEqual(['abort'])
})

test('a write that fails ends the snapshot', async () => {
  const { snapshot, stage } = receiver(new Error('full disk'))
  expect(await stage(10, 0, 3)).toEqual(['begin 10', 'failed: full disk', 'abort'])
  expect(snapshot.receiving).toBe(false)
  expect(await stage(10, 3, 3)).toEqual([])
})

test('L18: with 4 MiB before the disk the receiver is full, until a piece is written', async () => {
  const { snapshot, stage, told, hold } = receiver()
  const go = hold()
  const half = 2 * 1024 * 1024
  await stage(10, 0, half)
  await stage(10, half, half - 1)
  expect(snapshot.full).toBe(false)
  await stage(10, 2 * half - 1, 1)
  expect([snapshot.full, told]).toEqual([true, []])
  go()
  await snapshot.idle()
  expect([snapshot.full, told]).toEqual([false, [`write ${half}`, 'room', `write ${half - 1}`, 'write 1']])
})
