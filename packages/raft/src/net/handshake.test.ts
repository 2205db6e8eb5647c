// Test: who gets in, and what is said to who does not.

import { describe, expect, test } from 'vitest'
import {
  decodeHello,
  decodeReply,
  encodeHello,
  encodeRefusal,
  encodeWelcome,
  type Hello,
  isRefusal,
  judgeHello,
  judgeWelcome,
  type Self,
} from './handshake.js'
import { WIRE } from './frames.js'

const a: Self = {
  cluster: 'latchkey',
  clusterId: 'c-1',
  id: 'a',
  incarnation: 'of a',
  boot: 7,
  group: 0,
  level: 3,
  token: 'secret',
}
const b: Self = { ...a, id: 'b', incarnation: 'of b', boot: 8 }
const everybody = () => undefined

const helloOf = (self: Self, to = 'b'): Hello => {
  const hello = decodeHello(encodeHello(self, to))
  if (typeof hello === 'string') throw new Error(hello)
  return hello
}

const verdictOn = (hello: Hello, self = b, admit: (info: unknown) => string | undefined = everybody) => {
  const verdict = judgeHello(self, hello, admit)
  return isRefusal(verdict) ? [verdict.code, verdict.trusted] : verdict
}

describe('a hello', () => {
  test('says it all, and gets in', () => {
    expect(verdictOn(helloOf(a))).toEqual({
      id: 'a',
      incarnation: 'of a',
      boot: 7,
      clusterId: 'c-1',
      group: 0,
      level: 3,
      version: WIRE.most,
    })
  })

  test('of a member that does not know its cluster yet gets in, on either side', () => {
    expect(verdictOn(helloOf({ ...a, clusterId: '' }))).toMatchObject({ id: 'a' })
    expect(verdictOn(helloOf(a), { ...b, clusterId: '' })).toMatchObject({ id: 'a' })
  })

  test.each([
    ['another cluster name', helloOf({ ...a, cluster: 'other' }), 'ERR_WRONG_CLUSTER', false],
    ['a wrong token', helloOf({ ...a, token: 'guess' }), 'ERR_UNAUTHORIZED', false],
    ['no token', helloOf({ ...a, token: undefined }), 'ERR_UNAUTHORIZED', false],
    ['for another member', helloOf(a, 'c'), 'ERR_WRONG_CLUSTER', true],
    ['another cluster id (E19)', helloOf({ ...a, clusterId: 'c-2' }), 'ERR_WRONG_CLUSTER', true],
    ['another group', helloOf({ ...a, group: 1 }), 'ERR_WRONG_CLUSTER', true],
    ['from myself (E19)', helloOf({ ...a, id: 'b' }), 'ERR_WRONG_CLUSTER', true],
    ['an older version', { ...helloOf(a), least: 0, most: 0 }, 'ERR_PROTOCOL', false],
    ['a later version', { ...helloOf(a), least: 2, most: 9 }, 'ERR_PROTOCOL', false],
  ] as [string, Hello, string, boolean][])('%s is refused', (_what, hello, code, trusted) => {
    expect(verdictOn(hello)).toEqual([code, trusted])
  })

  test('M13: the owner is asked last, and its reason is told', () => {
    const asked: unknown[] = []
    const verdict = judgeHello(b, helloOf(a), (info) => {
      asked.push(info)
      return 'a has another directory'
    })
    expect(verdict).toMatchObject({
      code: 'ERR_WRONG_CLUSTER',
      reason: 'a has another directory',
      trusted: true,
    })
    expect(asked).toMatchObject([{ id: 'a', incarnation: 'of a' }])
    judgeHello(b, helloOf({ ...a, token: 'guess' }), (info) => void asked.push(info))
    expect(asked).toHaveLength(1)
  })

  test('a stranger is told neither who refuses nor which secret is right', () => {
    const verdict = judgeHello(b, helloOf({ ...a, token: 'guess' }), everybody)
    if (!isRefusal(verdict)) throw new Error('admitted')
    const frame = Buffer.from(encodeRefusal(verdict, b))
    for (const secret of ['secret', 'guess', 'of b', 'c-1']) expect(frame.includes(secret)).toBe(false)
    expect(decodeReply(frame)).toMatchObject({ ok: false, code: 'ERR_UNAUTHORIZED', info: undefined })
  })

  test('a member is told who refuses it', () => {
    const verdict = judgeHello(b, helloOf({ ...a, clusterId: '' }), () => 'no')
    if (!isRefusal(verdict)) throw new Error('admitted')
    const reply = decodeReply(encodeRefusal(verdict, b))
    expect(reply).toMatchObject({ ok: false, reason: 'no', info: { id: 'b', clusterId: 'c-1', boot: 8 } })
  })
})

describe('a welcome', () => {
  const welcomeOf = (self: Self) => {
    const reply = decodeReply(encodeWelcome(self, 1))
    if (typeof reply === 'string' || !reply.ok) throw new Error('no welcome')
    return reply
  }

  test('is judged by the one who dialled, too', () => {
    expect(judgeWelcome(a, 'b', welcomeOf(b), everybody)).toMatchObject({ id: 'b', boot: 8, version: 1 })
    expect(judgeWelcome(a, 'c', welcomeOf(b), everybody)).toMatchObject({ code: 'ERR_WRONG_CLUSTER' })
    expect(judgeWelcome(a, 'b', welcomeOf({ ...b, token: 'x' }), everybody)).toMatchObject({
      code: 'ERR_UNAUTHORIZED',
    })
    expect(judgeWelcome(a, 'b', welcomeOf({ ...b, clusterId: 'c-9' }), everybody)).toMatchObject({
      code: 'ERR_WRONG_CLUSTER',
    })
    expect(judgeWelcome(a, 'b', welcomeOf(b), () => 'no')).toMatchObject({ reason: 'no' })
  })

  test('M12: says up to where the one who dialled is no member; a place that makes no sense says nothing', () => {
    const missing = (value: unknown) => {
      const reply = decodeReply(encodeWelcome(b, 1, value as number))
      return typeof reply !== 'string' && reply.ok ? reply.info.missing : 'no welcome'
    }
    expect([7, 0, undefined, -1, 'x', 1.5].map(missing)).toEqual([7, 0, ...Array(4).fill(undefined)])
  })

  test('in a version that is not spoken here is refused', () => {
    expect(decodeReply(encodeWelcome(b, 2))).toBe('version 2 is not spoken here')
  })
})
