// Test: the path of a call is found from the records of several processes.

import { expect, test } from 'vitest'
import type { Kind, Note } from './hooks.js'
import { mostCommon, Paths } from './path.js'

const [CLIENT, LEADER, FOLLOWER, DIALLED] = [9001, 7001, 7002, 9002]

const note = (micros: number, kind: Kind, local = 0, remote = 0): Note => ({
  ...{ nanos: micros * 1000, kind, local, remote, bytes: 1 },
})

/** One put: the leader's disk is slow, so that its follower decides. Between the notes of the put lie others. */
const client = { name: 'client', notes: [note(110, 'out', CLIENT, LEADER), note(300, 'in', CLIENT, LEADER)] }
const leader = {
  name: 'leader',
  port: LEADER,
  notes: [
    note(50, 'out', DIALLED, FOLLOWER),
    note(130, 'in', LEADER, CLIENT),
    note(140, 'disk begins'),
    note(150, 'out', DIALLED, FOLLOWER),
    note(260, 'in', LEADER, 9003),
    note(280, 'out', LEADER, CLIENT),
    note(400, 'disk is done'),
  ],
}
const follower = {
  name: 'follower',
  port: FOLLOWER,
  notes: [
    note(170, 'in', FOLLOWER, DIALLED),
    note(180, 'disk begins'),
    note(230, 'disk is done'),
    note(240, 'out', 9003, LEADER),
  ],
}

test('the hops of a path lead from the call to its answer and add up to its time', () => {
  const path = new Paths(client, [leader, follower]).of({ began: 100_000, ended: 310_000 })
  expect(path).toEqual([
    { what: 'client: from the call until it sends to leader', micros: 10 },
    { what: 'from client to leader', micros: 20 },
    { what: 'leader: from where it hears client until it sends to follower', micros: 20 },
    { what: 'from leader to follower', micros: 20 },
    { what: 'follower: from where it hears leader until it writes to its disk', micros: 10 },
    { what: 'follower: its disk', micros: 50 },
    { what: 'follower: from where its disk is done until it sends to leader', micros: 10 },
    { what: 'from follower to leader', micros: 20 },
    { what: 'leader: from where it hears follower until it sends to client', micros: 20 },
    { what: 'from leader to client', micros: 20 },
    { what: 'client: from where it hears leader until the call is answered', micros: 10 },
  ])
  expect(path?.reduce((sum, { micros }) => sum + micros, 0)).toBe(210)
})

test('notes that do not lead back to the call are no path', () => {
  const deaf = { ...leader, notes: leader.notes.filter(({ kind }) => kind !== 'in') }
  expect(new Paths(client, [deaf, follower]).of({ began: 100_000, ended: 310_000 })).toBeUndefined()
  expect(new Paths(client, [follower]).of({ began: 100_000, ended: 310_000 })).toBeUndefined()
})

test('the most common path is told, each hop with its median', () => {
  const a = (micros: number) => [{ what: 'a', micros }]
  expect(mostCommon([a(1), [{ what: 'b', micros: 7 }], a(5), a(2)])).toEqual({ hops: a(2), calls: 3 })
  expect(mostCommon([])).toBeUndefined()
})
