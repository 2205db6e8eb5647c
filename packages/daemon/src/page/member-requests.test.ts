// Test: the page's stream of events: after an interruption it begins again after the last revision that it has
// received, and a refusal that stays ends it.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Api, Refusal, Stream } from './member-requests.js'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const bytes = (text: string) => new TextEncoder().encode(text)

/** A member that answers the requests one after the other, each with pieces of a stream or with a refusal. */
function streamOf(answers: readonly (readonly Uint8Array[] | Refusal)[]) {
  const asked: (string | null)[] = []
  const seen: unknown[] = []
  const response = async (_: string, { headers, signal }: RequestInit) => {
    asked.push(new Headers(headers).get('last-event-id'))
    const answer = answers[asked.length - 1]
    if (answer instanceof Refusal) throw answer
    if (answer !== undefined) return new Response(new ReadableStream({ start: (to) => fill(to, answer) }))
    return new Promise<never>((_resolve, reject) =>
      signal?.addEventListener('abort', () => reject(signal.reason as Error)),
    )
  }
  const fill = (to: ReadableStreamDefaultController, pieces: readonly Uint8Array[]) => {
    for (const piece of pieces) to.enqueue(piece)
    to.close()
  }
  const stream = new Stream({ response } as unknown as Api, '/events', {
    event: (data) => seen.push(data),
    opened: (again) => seen.push(again ? 'again' : 'first'),
    refused: (why) => seen.push(why.code),
  })
  return { stream, asked, seen, wait: (ms: number) => vi.advanceTimersByTimeAsync(ms) }
}

const event = (id: number, data: unknown, name = 'change') =>
  `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`

test('after an interruption the stream begins again after the last revision, whatever it was cut into', async () => {
  const whole = bytes(`${event(41, { key: 'ü' })}: heartbeat\n\n${event(42, { key: '🔑' })}id: 4`)
  const single = [...whole].map((byte) => Uint8Array.of(byte))
  const { stream, asked, seen, wait } = streamOf([single, [], [bytes(event(50, { key: 'b' }))]])
  await wait(0)
  expect([asked, seen]).toEqual([[null], ['first', { key: 'ü' }, { key: '🔑' }]])
  await wait(10_000)
  expect(asked).toEqual([null, '42', '42', '50'])
  expect(seen.slice(3)).toEqual(['again', 'again', { key: 'b' }])
  stream.close()
})

test('a stream whose events the member has no more begins with the present state', async () => {
  const over = event(9, { status: 410, code: 'ERR_COMPACTED', message: 'gone' }, 'error')
  const { stream, asked, wait } = streamOf([
    [bytes(event(7, { key: 'a' }))],
    new Refusal(410, 'ERR_COMPACTED', 'gone'),
    [bytes(event(8, { key: 'a' }))],
    [bytes(over)],
  ])
  await wait(20_000)
  expect(asked).toEqual([null, '7', null, '8', null])
  stream.close()
})

test.each([0, 429, 500, 503])('status %i passes, and is asked again after a pause', async (status) => {
  const refusal = new Refusal(status, 'X', 'x')
  const { stream, asked, seen, wait } = streamOf([refusal, refusal, refusal])
  await wait(0)
  expect(asked.length).toBe(1)
  await wait(299)
  expect(asked.length).toBe(1)
  await wait(1 + 600 + 1_200)
  expect([asked.length, seen]).toEqual([4, []])
  stream.close()
})

test('a refusal that stays ends the stream, at its beginning and in its midst', async () => {
  const first = streamOf([new Refusal(403, 'ERR_FORBIDDEN', 'no')])
  await first.wait(60_000)
  expect([first.asked.length, first.seen]).toEqual([1, ['ERR_FORBIDDEN']])
  const no = event(1, { status: 401, code: 'ERR_UNAUTHORIZED', message: 'no' }, 'error')
  const later = streamOf([[bytes(no)]])
  await later.wait(60_000)
  expect([later.asked.length, later.seen]).toEqual([1, ['first', 'ERR_UNAUTHORIZED']])
})

test('a stream that is silent for 25 seconds is opened again; a closed one is not', async () => {
  const { stream, asked, wait } = streamOf([])
  await wait(24_999)
  expect(asked.length).toBe(1)
  await wait(301)
  expect(asked.length).toBe(2)
  stream.close()
  await wait(60_000)
  expect([asked.length, vi.getTimerCount()]).toEqual([2, 0])
})
