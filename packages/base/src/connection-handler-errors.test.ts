// Test: an error in the handler of a connection is counted, logged in one short line, and closes only this
// connection.

import { expect, test } from 'vitest'
import { ConnectionErrors, shortError } from './connection-handler-errors.js'

function scene() {
  let now = 0
  const lines: Record<string, unknown>[] = []
  const nothing = () => {}
  const errors = new ConnectionErrors({
    clock: { now: () => now },
    logger: { debug: nothing, info: nothing, warn: nothing, error: (_, fields) => lines.push(fields ?? {}) },
  })
  return { errors, lines, pass: (ms: number) => (now += ms) }
}

const boom = (): never => {
  throw new TypeError('Cannot convert object to primitive value')
}

test('C12: the error of a handler closes its connection, is counted, and is logged in one line', () => {
  const { errors, lines } = scene()
  const closed: string[] = []
  errors.guard(
    'client',
    (_frame: string) => boom(),
    (frame) => void closed.push(frame),
  )('a frame')
  expect(closed).toEqual(['a frame'])
  expect([...errors.counts()]).toEqual([['client', 1]])
  expect(lines).toHaveLength(1)
  expect(lines[0]).toMatchObject({ where: 'client', errors: 1 })
  expect(lines[0]?.['error']).toMatch(
    /^TypeError: Cannot convert object to primitive value \(connection-handler-errors\.test\.ts:\d+:\d+\)$/,
  )
})

test('C12: so does a rejected promise; a connection that cannot be closed does no harm', async () => {
  const { errors } = scene()
  let closed = 0
  const rejects = errors.guard(
    'http',
    () => Promise.reject(new Error('late')),
    () => {
      closed++
      throw new Error('cannot be closed')
    },
  )
  rejects()
  await new Promise((resolve) => setImmediate(resolve))
  expect(closed).toBe(1)
  expect(errors.counts().get('http')).toBe(1)
})

test('a handler without an error keeps its connection', () => {
  const { errors, lines } = scene()
  const heard: number[] = []
  errors.guard('client', (n: number) => heard.push(n), boom)(7)
  expect(heard).toEqual([7])
  expect(errors.counts().size).toBe(0)
  expect(lines).toEqual([])
})

test('many errors of one kind are all counted, and logged once in ten seconds', () => {
  const { errors, lines, pass } = scene()
  const handler = errors.guard('client', boom, () => {})
  for (let i = 0; i < 100; i++) handler()
  expect(lines).toHaveLength(1)
  pass(10_000)
  handler()
  expect(lines[1]).toMatchObject({ errors: 100 })
  expect(errors.counts().get('client')).toBe(101)
})

test('any thrown value is described in one short line', () => {
  expect(shortError(new Error(`a${'b'.repeat(10_000)}`)).length).toBeLessThan(300)
  expect(shortError(new Error('two\nlines'))).toMatch(/^Error: two lines/)
  expect(shortError({ toString: 1, valueOf: 1 })).toBe('a thrown object')
  const strange = new Error('x')
  Object.defineProperty(strange, 'message', { get: boom })
  expect(shortError(strange)).toBe('an error that cannot be described')
})
