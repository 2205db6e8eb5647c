// Test: which fields and which length each frame of a handshake may have.

import { newNonce } from '@latchkey/base'
import { pack } from '@latchkey/protocol'
import { describe, expect, test } from 'vitest'
import {
  decodeChallenge,
  decodeGreeting,
  decodeHello,
  decodeProof,
  decodeReply,
  HANDSHAKE_LIMIT,
} from './handshake-frames.js'

describe('L22: what a frame of a handshake may hold', () => {
  const nonce = newNonce()
  const greeting = (...places: unknown[]) => decodeGreeting(pack([1, 3, 1, 1, ...places]))
  const hello = (...places: unknown[]) => decodeHello(pack([1, 0, places]), 1)
  const long = 'x'.repeat(1024)

  // Without this limit: a stranger makes a member decode 16 KiB of fields, again and again, before the
  // stranger has proved anything.
  test('each frame has at most 8 KiB, with the fields of a later build', () => {
    const frames: [(frame: Uint8Array) => unknown, unknown[]][] = [
      [decodeGreeting, [1, 3, 1, 1, 'latchkey', 'a', 'b', nonce]],
      [decodeChallenge, [1, 4, 1, 1, nonce]],
      [decodeProof, [1, 5, Buffer.alloc(32, 1)]],
      [(frame) => decodeHello(frame, 1), [1, 0, ['a', 'of a', 7, 'c-1', 0, 3]]],
      [decodeReply, [1, 1, 1, ['b', 'of b', 7, 'c-1', 0, 3], null]],
      [decodeReply, [1, 2, 0, 'no', null]],
    ]
    for (const [decode, places] of frames) {
      expect(decode(pack(places))).not.toBeTypeOf('string')
      const padded = (length: number) => {
        const room = length - pack([...places, Buffer.alloc(1_000)]).length + 1_000
        return pack([...places, Buffer.alloc(room)])
      }
      expect(padded(HANDSHAKE_LIMIT).length).toBe(8 * 1024)
      expect(decode(padded(HANDSHAKE_LIMIT))).toEqual(decode(pack(places)))
      expect(decode(padded(HANDSHAKE_LIMIT + 1))).toBe('a handshake is too long')
    }
  })

  test("a member's id that is empty, no text or very long is refused", () => {
    expect(greeting('', long, 'b', nonce)).toMatchObject({ cluster: '', from: long, to: 'b' })
    for (const name of ['', `${long}x`, 5, null, Buffer.from('a')]) {
      expect(greeting('latchkey', name, 'b', nonce)).toBe('a greeting with a wrong name')
      expect(greeting('latchkey', 'a', name, nonce)).toBe('a greeting with a wrong name')
      expect(hello(name, 'of a', 7, 'c-1', 0, 3)).toMatch(/does not say who it is/)
    }
    for (const cluster of [`${long}x`, 5, null])
      expect(greeting(cluster, 'a', 'b', nonce)).toBe('a greeting with a wrong name')
  })

  test('a greeting and a challenge have two versions and a nonce of its own length', () => {
    for (const wrong of [Buffer.alloc(nonce.length - 1), Buffer.alloc(nonce.length + 1), 'x', null]) {
      expect(greeting('latchkey', 'a', 'b', wrong)).toBe('a greeting without versions or a nonce')
      expect(decodeChallenge(pack([1, 4, 1, 1, wrong]))).toBe('a challenge without versions or a nonce')
    }
    for (const wrong of [-1, 0.5, null, '1'])
      for (const [least, most] of [
        [wrong, 1],
        [1, wrong],
      ]) {
        const places = [least, most, 'latchkey', 'a', 'b', nonce]
        expect(decodeGreeting(pack([1, 3, ...places]))).toBe('a greeting without versions or a nonce')
        expect(decodeChallenge(pack([1, 4, least, most, nonce]))).toMatch(/^a challenge without versions/)
      }
    for (const proof of [Buffer.alloc(31), Buffer.alloc(33), 'x', undefined])
      expect(decodeProof(pack([1, 5, proof]))).toBe('a proof that is none')
  })

  test("each field of a member's description is checked", () => {
    const right = ['a', 'of a', 7, 'c-1', 0, 3] as const
    const info = { id: 'a', incarnation: 'of a', boot: 7, clusterId: 'c-1', group: 0, level: 3, version: 1 }
    expect(hello(...right)).toEqual(info)
    const wrong: [number, unknown[]][] = [
      [1, [5, null, `${long}x`]],
      [2, [-1, 0.5, '7', null]],
      [3, [5, null, `${long}x`]],
      [4, [-1, 0.5, '0', null]],
      [5, [-1, 0.5, '3', null]],
    ]
    for (const [place, values] of wrong)
      for (const value of values)
        expect(hello(...right.with(place, value as never)), `${place} ${String(value)}`).toMatch(
          /does not say/,
        )
    const born = '2026-01-02T03:04:05.678Z'
    expect(hello(...right, born)).toEqual({ ...info, born })
    for (const value of ['yesterday', 5, `${'1'.repeat(41)}Z`, null])
      expect(hello(...right, value)).toEqual(info)
    expect(decodeHello(pack([1, 0, 'a']), 1)).toMatch(/does not say/)
    expect(decodeReply(pack([1, 1, 1, null, null]))).toMatch(/does not say/)
    for (const version of [0, 2, 0.5, '1', null])
      expect(decodeReply(pack([1, 1, version, right, null]))).toMatch(/version that is not spoken/)
  })

  test('a refusal has a code and a reason; one of a later build is ERR_PROTOCOL', () => {
    expect(decodeReply(pack([1, 2, 9_999, 'no', null]))).toMatchObject({ ok: false, code: 'ERR_PROTOCOL' })
    for (const [code, reason] of [
      [-1, 'no'],
      ['0', 'no'],
      [0, 5],
      [0, `${long}x`],
    ])
      expect(decodeReply(pack([1, 2, code, reason, null]))).toBe('a refusal without a reason')
  })
})
