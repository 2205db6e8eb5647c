// Test: a member with scripted answers, for the tests of the views.

import { LockHistory } from '../lock-history-collector.js'
import { type Api, Refusal } from '../member-requests.js'

export const LOCK_WATCH = '/v1/locks:watch?prefix='

type Answer = object | string | Refusal

/**
 * Returns a member with these answers. A request gets the answer of the longest beginning of its path. `tell`
 * sends an event to the watch with that path.
 */
export function member(
  answers: Record<string, Answer>,
  person: object = { rights: ['read', 'write', 'admin'] },
) {
  const asked: string[] = []
  const said: string[] = []
  const posted: [string, unknown][] = []
  const watches = new Map<string, (data: object) => void>()
  const answerTo = (path: string): Answer => {
    asked.push(path)
    const known = Object.keys(answers)
      .filter((one) => path.startsWith(one))
      .toSorted((a, b) => b.length - a.length)
    return answers[known[0] ?? ''] ?? new Refusal(404, 'NONE', `no answer to ${path}`)
  }
  const given = async (path: string) => {
    const answer = answerTo(path)
    if (answer instanceof Refusal) throw answer
    return answer
  }
  const response = async (path: string, init?: { signal?: AbortSignal }) => {
    if (!path.includes('watch')) {
      const answer = await given(path)
      return answer instanceof Response ? answer.clone() : new Response(answer as string)
    }
    await given(path)
    return new Response(
      new ReadableStream({
        start: (to) => {
          const bytes = (data: object) => new TextEncoder().encode(`data: ${JSON.stringify(data)}\n\n`)
          watches.set(path, (data) => to.enqueue(bytes(data)))
          init?.signal?.addEventListener('abort', () => to.error(new Error('closed')))
        },
      }),
    )
  }
  const post = async (path: string, sent?: unknown) => {
    posted.push([path, sent])
    return await given(path)
  }
  const api = { get: given, response, post } as unknown as Api
  const everybody = { name: 'ana', rights: [], ...person }
  const history = new LockHistory(api, everybody)
  const console = { api, person: everybody, history, say: (text: string) => void said.push(text) }
  return {
    console,
    asked,
    said,
    posted,
    answers,
    tell: (path: string, data: object) => watches.get(path)?.(data),
  }
}

/** A row of the answer to GET /v1/locks. */
export const lock = (key: string, more: object = {}) => ({
  key,
  id: `id-of-${key}`,
  mode: 'exclusive',
  fencingToken: 9,
  acquires: 1,
  remainingMillis: 30_000,
  sinceMillis: 2_000,
  waiters: 0,
  ...more,
})
