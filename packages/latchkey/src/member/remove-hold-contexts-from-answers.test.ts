// Test: an answer to a client without the right to read has no context of a hold, and is otherwise the same.

import { utf8 } from '@latchkey/base'
import {
  type Answer,
  type Command,
  decodeAnswer,
  encodeAnswer,
  errorAnswer,
  OP,
  okAnswer,
} from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { heldBackOf, ownerWithoutContext } from './remove-hold-contexts-from-answers.js'

const owner = (context: Uint8Array | null) => ['id', 9, 8, 7, 1, context, 'HELD', 0] as never
const [open, hidden] = [owner(utf8('secret')), owner(null)]

const KEY = utf8('k')
const of = (op: number, ...more: unknown[]) => heldBackOf([op, KEY, ...more] as unknown as Command)

test.each([
  [OP.tryLock, [open, 3], [hidden, 3]],
  [OP.steal, [open, 3], [hidden, 3]],
  [OP.tryLockAll, ['granted', [open, open]], ['granted', [hidden, hidden]]],
  [OP.release, open, hidden],
  [OP.downgrade, open, hidden],
  [OP.proclaim, open, hidden],
  [OP.rotate, open, hidden],
  [OP.cancelWait, ['granted', open], ['granted', hidden]],
  [OP.cancelWait, ['left', null], ['left', null]],
])('operation %i', (op, given, expected) => {
  const hide = of(op)
  expect(hide?.(okAnswer(given))).toEqual(okAnswer(expected))
  const bytes = encodeAnswer(okAnswer(given))
  expect(hide?.(bytes)).toEqual(okAnswer((decodeAnswer(encodeAnswer(okAnswer(expected))) as Answer)[1]))
  const refused = errorAnswer('ERR_BUSY')
  expect(hide?.(refused)).toEqual(refused)
})

test('a write with a guard holds back the holder that an error names', () => {
  const guarded = heldBackOf([OP.put, [[KEY, 'id', 1]], KEY, KEY] as unknown as Command)
  const error = ['ERR_FENCED', 'a newer hold', false, false, open] as unknown as Answer
  expect(guarded?.(error)).toEqual([
    'ERR_FENCED',
    'a newer hold',
    false,
    false,
    ['id', null, 8, 7, 1, utf8('secret'), 'HELD', 0],
  ])
  const plain = errorAnswer('ERR_BUSY')
  expect([guarded?.(plain), guarded?.(okAnswer(1))]).toEqual([plain, okAnswer(1)])
})

test('a command that is applied once holds back the same as without applyOnce', () => {
  const once = (command: unknown) => heldBackOf([OP.applyOnce, [KEY, KEY, 1], command] as unknown as Command)
  expect(once([OP.rotate, KEY, 'id', 1])?.(okAnswer(open))).toEqual(okAnswer(hidden))
  expect(once([OP.countDown, KEY, 1])).toBeUndefined()
  expect(once([OP.nextSequence, [KEY, 1], KEY, 1])).toBe(heldBackOf([OP.nextSequence, [KEY, 1], KEY, 1]))
})

test('other answers have no context', () => {
  expect([of(OP.put), of(OP.deleteRange), of(OP.keepAlive)]).toEqual([undefined, undefined, undefined])
  for (const op of [OP.renew, OP.releaseAll])
    expect(heldBackOf([op, [[KEY, 'id', 1]]] as unknown as Command)).toBeUndefined()
  expect(ownerWithoutContext(open)).toEqual(hidden)
})
