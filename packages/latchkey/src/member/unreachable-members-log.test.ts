// Test: when the log reports that another member is unreachable, and that it is reachable again.

import { ManualClock } from '@latchkey/raft/memory'
import { expect, test } from 'vitest'
import { AbsentMembers } from './unreachable-members-log.js'

function world() {
  const clock = new ManualClock()
  const connected = new Set<string>()
  const lines: unknown[] = []
  const line = (message: string, fields?: unknown) => void lines.push([message.split(':')[0], fields])
  const logger = { debug: line, info: line, warn: line, error: line }
  const absent = new AbsentMembers(clock, logger, (id) => connected.has(id))
  const change = (id: string, isUp: boolean, ids = ['b', 'c']) => {
    if (isUp) connected.add(id)
    else connected.delete(id)
    absent.look(ids)
  }
  return { clock, lines, absent, change }
}

test('a long absence and its end are told once; a restart and a member that never came are not', () => {
  const { clock, lines, change } = world()
  change('b', true)
  clock.advance(60_000)
  change('b', false)
  clock.advance(9_000)
  change('b', true)
  clock.advance(60_000)
  expect(lines).toEqual([])
  change('b', false)
  for (let i = 0; i < 30; i++) {
    clock.advance(1_000)
    change('b', false)
  }
  expect(lines).toEqual([['another member cannot be reached', { id: 'b' }]])
  change('b', true)
  expect(lines.slice(1)).toEqual([['another member can be reached again', { id: 'b', absentMillis: 30_000 }]])
})

test('nothing is told of a member that was removed, nor after the end', () => {
  const { clock, lines, absent, change } = world()
  change('b', true)
  change('c', true)
  change('b', false)
  change('b', false, ['c'])
  change('c', false, ['c'])
  absent.close()
  clock.advance(60_000)
  expect([lines, clock.armed]).toEqual([[], 0])
})
