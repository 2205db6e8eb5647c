// Test: which replies one connection gets in one turn of the event loop.

import { decodeReplies, type EventResult, type LinkReply, MOST_IN_FRAME } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { Outbox } from './replies-to-connection.js'

const event = (revision: number): EventResult => [revision, 0, Buffer.from('k'), Buffer.from('v'), null]

function outbox() {
  const turns: (() => void)[] = []
  const told: LinkReply[][] = []
  const one = new Outbox({
    write: (frame) => told.push(decodeReplies(frame) as LinkReply[]),
    wrote: () => true,
    defer: (run) => turns.push(run),
  })
  return { one, told, turn: () => turns.splice(0).forEach((run) => run()) }
}

test('C11: the very same events of several watches travel once, others by themselves and in order', () => {
  const { one, told, turn } = outbox()
  const [same, alike] = [[event(5)], [event(5)]]
  const answer = { kind: 'answer', id: 9, time: 0, never: false, answer: [0, null] } as const
  one.tell({ kind: 'events', ids: [1], events: same, upTo: 5 })
  one.tell({ kind: 'events', ids: [2], events: same, upTo: 5 })
  one.tell({ kind: 'events', ids: [3], events: alike, upTo: 5 })
  one.tell({ kind: 'events', ids: [4], events: alike, upTo: 6 })
  one.tell(answer)
  one.tell({ kind: 'events', ids: [1], events: alike, upTo: 6 })
  turn()
  one.tell({ kind: 'events', ids: [2], events: alike, upTo: 6 })
  turn()
  const ids = told.map((replies) =>
    replies.map((reply) => (reply.kind === 'events' ? reply.ids : reply.kind)),
  )
  expect(ids).toEqual([[[1, 2], [3], [4], 'answer', [1]], [[2]]])
})

test('a member sends the first replies of a long turn before the turn ends', () => {
  const { one, told, turn } = outbox()
  const answer = (id: number) => ({ kind: 'answer', id, time: 0, never: false, answer: [0, null] }) as const
  for (let id = 1; id <= MOST_IN_FRAME + 2; id++) one.tell(answer(id))
  expect(told.map((replies) => replies.length)).toEqual([MOST_IN_FRAME])
  turn()
  expect(told.map((replies) => replies.length)).toEqual([MOST_IN_FRAME, 2])
})
