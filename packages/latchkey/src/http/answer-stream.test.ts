// Test: a streamed answer that fails has no end, an answer that is complete has one, and the source of the pieces
// is told that it can stop.

import { EventEmitter, once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { uptime } from 'node:os'
import { systemClock } from '@latchkey/base'
import { ManualClock } from '@latchkey/raft/memory'
import { expect, test } from 'vitest'
import { HEARTBEAT_MS, writeStream } from './answer-stream.js'
import type { Stream } from './http-route-dependencies.js'

/** Answers one request with the stream. `result` is what the caller reads, and `written` how the writing ended. */
async function answered(stream: Stream, signal: AbortSignal = new AbortController().signal) {
  let finish: (how: unknown) => void = () => {}
  const ended = new Promise<unknown>((resolve) => (finish = resolve))
  const wrote: ServerResponse[] = []
  const ports = {
    clock: systemClock(uptime),
    signal,
    wrote: (response: ServerResponse) => wrote.push(response),
  }
  const server = createServer((_, response) => {
    writeStream(stream, response, ports).then(() => finish('whole'), finish)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const result = await fetch(`http://127.0.0.1:${port}`)
    .then((answer) => answer.text())
    .catch(() => 'cut')
  const written = await ended
  server.closeAllConnections()
  server.close()
  return { result, written, writes: wrote.length }
}

function pieces(source: () => AsyncGenerator<string>) {
  const state = { ended: false }
  async function* all() {
    try {
      yield* source()
    } finally {
      state.ended = true
    }
  }
  return { state, stream: { pieces: all(), isEndless: false } as unknown as Stream }
}

test('an answer that is complete has an end, and each piece is counted', async () => {
  const { stream, state } = pieces(async function* () {
    yield 'one, '
    yield 'two'
  })
  expect(await answered(stream)).toEqual({ result: 'one, two', written: 'whole', writes: 2 })
  expect(state.ended).toBe(true)
})

test('an answer that fails after its beginning is cut, so that nobody takes it for the whole answer', async () => {
  const reason = new Error('the view is lost')
  const { stream, state } = pieces(async function* () {
    yield 'one, '
    throw reason
  })
  expect(await answered(stream)).toEqual({ result: 'cut', written: reason, writes: 1 })
  expect(state.ended).toBe(true)
})

test('an answer whose member stops is cut, and its source ends', async () => {
  const stop = new AbortController()
  const { stream, state } = pieces(async function* () {
    yield 'one, '
    stop.abort()
    yield 'two'
  })
  expect(await answered(stream, stop.signal)).toEqual({ result: 'cut', written: 'whole', writes: 1 })
  expect(state.ended).toBe(true)
})

/** The answer to a caller who reads nothing while `writableNeedDrain` is true. */
class Response extends EventEmitter {
  readonly written: unknown[] = []
  writableNeedDrain = false
  destroyed = false

  write(piece: unknown): boolean {
    this.written.push(piece)
    return !this.writableNeedDrain
  }

  end(): void {}

  destroy(): void {
    this.destroyed = true
    this.emit('close')
  }
}

function endless() {
  const clock = new ManualClock()
  const response = new Response()
  const never = { next: () => new Promise<never>(() => {}) }
  const stream: Stream = { pieces: never, isEndless: true }
  const { signal } = new AbortController()
  void writeStream(stream, response as unknown as ServerResponse, { clock, signal, wrote: () => {} })
  return { clock, response }
}

test('an answer without an end has a heartbeat at each interval', () => {
  const { clock, response } = endless()
  clock.advance(HEARTBEAT_MS - 1)
  expect(response.written).toEqual([])
  clock.advance(1)
  expect(response.written).toEqual([': heartbeat\n\n'])
  clock.advance(3 * HEARTBEAT_MS)
  expect([response.written.length, response.destroyed]).toEqual([4, false])
})

// Without this law: a caller that stopped in the middle of a watch keeps its place until the member stops.
test('a caller that reads nothing for two heartbeats is disconnected, a slow one is not', () => {
  const { clock, response } = endless()
  const beat = (isFull: boolean) => {
    response.writableNeedDrain = isFull
    clock.advance(HEARTBEAT_MS)
    return [response.written.length, response.destroyed]
  }
  expect([beat(true), beat(false), beat(true)]).toEqual([
    [0, false],
    [1, false],
    [1, false],
  ])
  expect(beat(true)).toEqual([1, true])
  expect(clock.armed).toBe(0)
})
