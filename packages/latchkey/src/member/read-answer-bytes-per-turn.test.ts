// Test: large reads are spread over several turns of the event loop, and client connections take turns.

import type { Clock } from '@latchkey/base'
import { expect, test } from 'vitest'
import { ReadTurns } from './read-answer-bytes-per-turn.js'

const MiB = 1024 * 1024

function scene() {
  const due: (() => void)[] = []
  const after: Clock['after'] = (_, run) => {
    due.push(run)
    return { cancel: () => {} }
  }
  let time = 0
  const turns = new ReadTurns({ after, now: () => time } as Clock)
  const served: string[] = []
  const ask = (clientConnection: object, name: string, bytes = MiB) =>
    turns.run(clientConnection, () => {
      served.push(name)
      return bytes
    })
  const turn = () => {
    for (const run of due.splice(0)) run()
    return served.splice(0).join(' ')
  }
  const pass = (ms: number) => void (time += ms)
  return { turns, ask, turn, pass, now: () => served.splice(0).join(' '), due }
}

test('C37: after so many bytes the next read waits for another turn, and the client connections take turns', () => {
  const { ask, turn, now } = scene()
  const [a, b] = [{}, {}]
  for (let i = 1; i <= 10; i++) ask(a, `a${i}`)
  for (let i = 1; i <= 2; i++) ask(b, `b${i}`)
  expect(now()).toBe('a1 a2 a3 a4')
  expect(turn()).toBe('a5 b1 a6 b2')
  expect(turn()).toBe('a7 a8 a9 a10')
  expect(turn()).toBe('')
})

test('C37: one large answer uses up its turn; small ones need no timer', () => {
  const { ask, turn, now, due } = scene()
  const clientConnection = {}
  for (let i = 0; i < 1_000; i++) ask(clientConnection, 's', 10)
  expect(now().split(' ')).toHaveLength(1_000)
  expect(due).toHaveLength(0)
  ask(clientConnection, 'large', 15 * MiB)
  ask(clientConnection, 'next')
  expect(now()).toBe('large')
  expect(turn()).toBe('next')
})

test('C37: nothing is looked up for a client connection that was closed meanwhile', () => {
  const { turns, ask, turn, now } = scene()
  const [a, b] = [{}, {}]
  for (let i = 1; i <= 8; i++) ask(a, `a${i}`)
  ask(b, 'b1')
  now()
  turns.left(a)
  expect(turn()).toBe('b1')
})

test('C37: what takes long uses up its turn too, though it says little', () => {
  const { turns, turn, now, pass } = scene()
  let served = 0
  for (let i = 0; i < 12; i++)
    turns.run({}, () => {
      served++
      pass(4)
      return 2
    })
  now()
  expect(served).toBe(4)
  turn()
  expect(served).toBe(8)
})
