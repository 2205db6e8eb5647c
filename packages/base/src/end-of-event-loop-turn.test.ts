// Test: messages that are created in a turn of the event loop are sent in the same turn.

import { expect, test } from 'vitest'
import { Turns } from './end-of-event-loop-turn.js'

function byHand() {
  const due: (() => void)[] = []
  const turns = new Turns((run) => due.push(run))
  return { turns, due, turn: () => due.shift()?.() }
}

test('what work adds to the end of its turn runs in that turn, after all work', () => {
  const { turns, due, turn } = byHand()
  const heard: string[] = []
  turns.end(() => heard.push('early end'))
  turns.work(() => {
    heard.push('first')
    turns.end(() => heard.push('end'))
  })
  turns.work(() => heard.push('second'))
  turn()
  expect(heard).toEqual(['first', 'second', 'early end', 'end'])
  expect(due).toHaveLength(0)
})

test('work that is added by work, or at the end of a turn, runs in the next turn', () => {
  const { turns, due, turn } = byHand()
  const heard: string[] = []
  turns.work(() => {
    turns.work(() => heard.push('next'))
    turns.end(() => turns.end(() => heard.push('next end')))
  })
  turn()
  expect(heard).toEqual([])
  expect(due).toHaveLength(1)
  turn()
  expect(heard).toEqual(['next', 'next end'])
  expect(due).toHaveLength(0)
})

test('an error in one function does not drop the others', () => {
  const { turns, turn } = byHand()
  const heard: string[] = []
  turns.end(() => heard.push('sent'))
  turns.work(() => {
    throw new Error('broken')
  })
  expect(turn).toThrow('broken')
  turn()
  expect(heard).toEqual(['sent'])
})
