// Test: EN7: each end of a watch of an etcd row wakes its waiter once, and a stream that broke is opened again for
// the next waiter.

import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import type { EtcdClient } from './etcd-types.js'
import { RowWatches } from './row-watches.js'

class Connection extends EventEmitter {
  readonly written: unknown[] = []
  isCancelled = false

  write(request: unknown): void {
    this.written.push(request)
  }

  cancel(): void {
    this.isCancelled = true
  }
}

const settled = () => new Promise<void>((resolve) => void setImmediate(resolve))

/** The watches over a client whose streams are in `opened`. With `isDown`, no stream can be opened. */
function scene() {
  const state = { isDown: false }
  const opened: Connection[] = []
  const watch = async () => {
    if (state.isDown) throw new Error('etcd is down')
    opened.push(new Connection())
    return opened.at(-1)
  }
  const watches = new RowWatches({ watchClient: { watch } } as unknown as EtcdClient)
  const woken: string[] = []
  const begin = (row: string, revision = '7') =>
    watches.begin(Buffer.from(row), revision, () => void woken.push(row))
  return { state, opened, watches, woken, begin }
}

const changed = (id: string) => ({ watch_id: id, canceled: false, events: [{}] })

test('EN7: an event or the cancellation of a watch wakes its waiter once, and no other waiter', async () => {
  const { opened, woken, begin } = scene()
  begin('a')
  begin('b')
  begin('c')
  await settled()
  const [stream] = opened as [Connection]
  expect([opened.length, stream.written.length]).toEqual([1, 3])
  expect(JSON.stringify(stream.written[0])).toContain('"8"')
  stream.emit('data', { watch_id: '1', canceled: false, events: [] })
  expect(woken).toEqual([])
  stream.emit('data', changed('2'))
  stream.emit('data', changed('2'))
  stream.emit('data', { watch_id: '3', canceled: true, events: [] })
  await settled()
  expect(woken).toEqual(['b', 'c'])
})

// Without this law: the row before the waiter is gone, and the waiter sleeps until its next poll.
test('EN7: a stream that breaks wakes all its waiters once, and the next waiter has a new stream', async () => {
  const { opened, woken, begin } = scene()
  begin('a')
  begin('b')
  await settled()
  opened[0]?.emit('error', new Error('the connection broke'))
  opened[0]?.emit('end')
  expect(woken).toEqual(['a', 'b'])
  begin('c')
  await settled()
  expect([opened.length, opened[1]?.written.length]).toEqual([2, 1])
  opened[0]?.emit('end')
  expect(woken).toEqual(['a', 'b'])
  opened[1]?.emit('end')
  expect(woken).toEqual(['a', 'b', 'c'])
})

test('EN7: a stream that cannot be opened wakes its waiters, and is opened for the next waiter', async () => {
  const { state, opened, woken, begin } = scene()
  state.isDown = true
  begin('a')
  await settled()
  expect([woken, opened.length]).toEqual([['a'], 0])
  state.isDown = false
  begin('b')
  await settled()
  expect([woken, opened.length]).toEqual([['a'], 1])
})

test('a waiter that stops is not woken, and the last one cancels the stream', async () => {
  const { opened, woken, begin, watches } = scene()
  const [first, second] = [begin('a'), begin('b')]
  await settled()
  const [stream] = opened as [Connection]
  first()
  await settled()
  expect([stream.written.length, stream.isCancelled]).toEqual([3, false])
  stream.emit('data', changed('1'))
  second()
  await settled()
  expect([woken, stream.isCancelled]).toEqual([[], true])
  begin('c')
  await settled()
  watches.close()
  await settled()
  expect([woken, opened.length, opened[1]?.isCancelled]).toEqual([[], 2, true])
})
