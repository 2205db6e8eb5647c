// Test: which handshakes succeed, and what a refused side learns. Both sides are in memory. Tests over
// sockets are in incoming-connections.test.ts and token-proof.test.ts.

import { EMPTY, newNonce } from '@latchkey/base'
import { pack, unpack } from '@latchkey/protocol'
import { describe, expect, test } from 'vitest'
import { decodeReply, encodeRefusal, encodeWelcome, type Self } from './handshake-frames.js'
import { DialledHandshake, DiallingHandshake, type HandshakePorts, type Step } from './handshake-steps.js'
import { WIRE } from './frames.js'

const a: Self = {
  cluster: 'latchkey',
  clusterId: 'c-1',
  id: 'a',
  incarnation: 'of a',
  boot: 7,
  group: 0,
  level: 3,
  tokens: ['secret'],
}
const b: Self = { ...a, id: 'b', incarnation: 'of b', boot: 8 }

type Given = Partial<Omit<HandshakePorts, 'self'>>

const portsOf = (self: Self, given: Given = {}): HandshakePorts => ({
  self: () => self,
  admit: () => undefined,
  missing: () => undefined,
  newNonce,
  channel: EMPTY,
  whyNotNamed: () => undefined,
  ...given,
})

const dials = (self: Self, to = 'b', given?: Given) => new DiallingHandshake(portsOf(self, given), to)
const isDialled = (self: Self, given?: Given) => new DialledHandshake(portsOf(self, given))

interface Met {
  readonly dialling: Step | undefined
  readonly dialled: Step | undefined
  /** All frames that were sent, in order. */
  readonly frames: readonly Uint8Array[]
}

type Change = (frame: Uint8Array, place: number) => Uint8Array

/**
 * Passes frames between both sides until one side has no more to send. `change` is an attacker between them.
 */
function meet(left: DiallingHandshake, right: DialledHandshake, change: Change = (frame) => frame): Met {
  const frames: Uint8Array[] = []
  const steps: { left: Step | undefined; right: Step | undefined } = { left: undefined, right: undefined }
  let said: Uint8Array | undefined = left.greeting
  for (let place = 0; said !== undefined; place++) {
    frames.push(said)
    const step: Step = (place % 2 === 0 ? right : left).receive(change(said, place))
    steps[place % 2 === 0 ? 'right' : 'left'] = step
    if (step.next === 'refused') {
      const self = place % 2 === 0 ? b : a
      if (step.by === 'us' && place % 2 === 0) steps.left = left.receive(encodeRefusal(step.refusal, self))
      break
    }
    said = step.send
  }
  return { dialling: steps.left, dialled: steps.right, frames }
}

const met = (left: Self, right = b, to = 'b', given?: Given) => meet(dials(left, to), isDialled(right, given))

/**
 * The result for the dialled side: [error code, whether the other side was told the refusing member's name].
 */
const verdictOn = (...given: Parameters<typeof met>) => {
  const { dialled } = met(...given)
  return dialled?.next === 'refused' ? [dialled.refusal.code, dialled.refusal.trusted] : dialled?.next
}

/** A frame with one of its fields changed. */
const changed = (frame: Uint8Array, place: number, value: unknown): Uint8Array =>
  pack((unpack(frame) as unknown[]).with(place, value))

describe('a handshake', () => {
  test('says it all, and both are in', () => {
    const { dialling, dialled } = met(a)
    const who = { clusterId: 'c-1', group: 0, level: 3, version: WIRE.most }
    expect(dialled).toMatchObject({
      next: 'admitted',
      info: { id: 'a', incarnation: 'of a', boot: 7, ...who },
    })
    expect(dialling).toMatchObject({
      next: 'admitted',
      info: { id: 'b', incarnation: 'of b', boot: 8, ...who },
    })
  })

  test('of a member that does not know its cluster yet gets in, on either side', () => {
    expect(verdictOn({ ...a, clusterId: '' })).toBe('admitted')
    expect(verdictOn(a, { ...b, clusterId: '' })).toBe('admitted')
  })

  test('without any member token gets in where none is asked for', () => {
    expect(verdictOn({ ...a, tokens: [] }, { ...b, tokens: [] })).toBe('admitted')
  })

  test.each([
    ['another cluster name', [{ ...a, cluster: 'other' }], 'ERR_WRONG_CLUSTER', false],
    ['a wrong token', [{ ...a, tokens: ['guess'] }], 'ERR_UNAUTHORIZED', false],
    ['no token', [{ ...a, tokens: [] }], 'ERR_UNAUTHORIZED', false],
    ['a token where none is asked for', [a, { ...b, tokens: [] }], 'ERR_UNAUTHORIZED', false],
    ['for another member', [a, b, 'c'], 'ERR_WRONG_CLUSTER', false],
    ['another cluster id (E19)', [{ ...a, clusterId: 'c-2' }], 'ERR_WRONG_CLUSTER', true],
    ['another group', [{ ...a, group: 1 }], 'ERR_WRONG_CLUSTER', true],
    ['from myself (E19)', [{ ...a, id: 'b' }], 'ERR_WRONG_CLUSTER', true],
  ] as [string, Parameters<typeof met>, string, boolean][])(
    '%s is refused',
    (_what, given, code, trusted) => {
      expect(verdictOn(...given)).toEqual([code, trusted])
      expect(met(...given).dialling).toMatchObject({ next: 'refused', by: 'them', refusal: { code } })
    },
  )

  test('M13: the owner is asked last, and its reason is told', () => {
    const asked: unknown[] = []
    const admit = (info: unknown) => {
      asked.push(info)
      return 'a has another directory'
    }
    expect(met(a, b, 'b', { admit }).dialling).toMatchObject({
      by: 'them',
      refusal: { reason: 'a has another directory' },
      info: { id: 'b', clusterId: 'c-1', boot: 8 },
    })
    expect(asked).toHaveLength(1)
    met({ ...a, clusterId: 'c-2' }, b, 'b', { admit })
    expect(asked).toHaveLength(1)
  })

  test('is judged by the one who dialled, too', () => {
    const judged = (right: Self, given?: Given) => meet(dials(a, 'b', given), isDialled(right)).dialling
    expect(judged(b, { admit: () => 'no' })).toMatchObject({ by: 'us', refusal: { reason: 'no' } })
    const other = meet(dials(a), isDialled(b), (frame, place) =>
      place === 5 ? changed(frame, 3, ['c', 'of c', 9, 'c-1', 0, 1]) : frame,
    )
    expect(other.dialling).toMatchObject({ by: 'us', refusal: { code: 'ERR_WRONG_CLUSTER' } })
  })

  test('M12: says up to where the one who dialled is no member; a place that makes no sense says nothing', () => {
    const missing = (value: unknown) => {
      const reply = decodeReply(encodeWelcome(b, 1, value as number))
      return typeof reply !== 'string' && reply.ok ? reply.info.missing : 'no welcome'
    }
    expect([7, 0, undefined, -1, 'x', 1.5].map(missing)).toEqual([7, 0, ...Array(4).fill(undefined)])
  })

  test('a welcome in a version that is not spoken here is refused', () => {
    expect(decodeReply(encodeWelcome(b, 2))).toMatch(/version/)
  })
})

describe('M20: a proof', () => {
  const refusedFor = ({ dialled, dialling }: Met) => [
    dialled?.next === 'refused' ? dialled.refusal.code : dialled?.next,
    dialling?.next === 'refused' ? dialling.refusal.code : dialling?.next,
  ]

  test('is made with the first token, and each is accepted: so that a token can be replaced member by member', () => {
    const stages = [['old'], ['old', 'new'], ['new', 'old'], ['new']]
    for (const [i, ours] of stages.entries()) {
      // Builds that are one version apart can connect in both directions.
      for (const theirs of stages.slice(Math.max(0, i - 1), i + 2))
        expect(verdictOn({ ...a, tokens: ours }, { ...b, tokens: theirs })).toBe('admitted')
    }
    expect(verdictOn({ ...a, tokens: ['new'] }, { ...b, tokens: ['old'] })).not.toBe('admitted')
  })

  test('that is sent back is no proof of the one who sends it', () => {
    // A stranger sends the dialler's own proof back to the dialler.
    const left = dials(a)
    const right = isDialled(b)
    const challenge = right.receive(left.greeting)
    const proof = left.receive((challenge as { send: Uint8Array }).send)
    expect(left.receive((proof as { send: Uint8Array }).send)).toMatchObject({
      next: 'refused',
      by: 'us',
      refusal: { code: 'ERR_UNAUTHORIZED' },
      info: undefined,
    })
  })

  test('of a member is of no use against that member itself', () => {
    // Member a dials b, but reaches a stranger. At the same time the stranger dials a, and sends a its own
    // frames back.
    const left = dials(a)
    const incomingConnections = isDialled(a)
    const challenge = incomingConnections.receive(left.greeting) as { send: Uint8Array }
    const proof = left.receive(challenge.send) as { send: Uint8Array }
    const step = incomingConnections.receive(proof.send)
    expect(step).toMatchObject({ next: 'refused', refusal: { trusted: false }, info: undefined })
  })

  test('that was recorded is of no use on another connection', () => {
    const recorded = met(a).frames
    const again = isDialled(b)
    again.receive(recorded[0] as Uint8Array)
    expect(again.receive(recorded[2] as Uint8Array)).toMatchObject({ refusal: { code: 'ERR_UNAUTHORIZED' } })
    const left = dials(a)
    left.receive(recorded[1] as Uint8Array)
    expect(left.receive(recorded[3] as Uint8Array)).toMatchObject({ refusal: { code: 'ERR_UNAUTHORIZED' } })
  })

  test('said to a stranger at the address of c does not open the door of b', () => {
    const relayed = meet(dials(a, 'c'), isDialled(b), (frame, place) =>
      place === 0 ? changed(frame, 6, 'b') : frame,
    )
    expect(refusedFor(relayed)).toEqual(['ERR_UNAUTHORIZED', 'ERR_UNAUTHORIZED'])
    // It does not work either when the stranger names the true target; and the stranger learns nothing but a
    // name.
    const honest = met(a, b, 'c').dialled
    expect(honest).toMatchObject({ next: 'refused', refusal: { trusted: false }, info: undefined })
  })

  test.each([
    ['another name of the one who dials', 0, 5, 'c'],
    ['another name of the cluster', 0, 4, 'other'],
    ['older versions of the one who dials', 0, 2, 0],
    ['later versions of the one who dials', 0, 3, 9],
    ['another nonce of the one who dials', 0, 7, newNonce()],
    ['another nonce of the one who was dialled', 1, 4, newNonce()],
    ['older versions of the one who was dialled', 1, 2, 0],
    ['later versions of the one who was dialled', 1, 3, 9],
  ])('does not fit %s', (_what, at, place, value) => {
    const tampered = meet(dials(a), isDialled(b), (frame, step) =>
      step === at ? changed(frame, place, value) : frame,
    )
    expect(refusedFor(tampered)[0]).not.toBe('admitted')
    expect(refusedFor(tampered)[1]).not.toBe('admitted')
    // The first proof is refused or not even sent: no later frame follows.
    expect(tampered.frames.length).toBeLessThanOrEqual(3)
  })

  test('of another cluster of the same token is refused, though somebody between them changes the name', () => {
    const renamed = meet(dials({ ...a, cluster: 'other' }), isDialled(b), (frame, place) =>
      place === 0 ? changed(frame, 4, 'latchkey') : frame,
    )
    expect(refusedFor(renamed)).toEqual(['ERR_UNAUTHORIZED', 'ERR_UNAUTHORIZED'])
  })

  test('through somebody who ends TLS between the two is refused', () => {
    const [one, other] = [newNonce(), newNonce()]
    const ended = meet(dials(a, 'b', { channel: one }), isDialled(b, { channel: other }))
    expect(refusedFor(ended)).toEqual(['ERR_UNAUTHORIZED', 'ERR_UNAUTHORIZED'])
    expect(meet(dials(a, 'b', { channel: one }), isDialled(b, { channel: one })).dialled?.next).toBe(
      'admitted',
    )
  })

  test('is asked of every frame: a member of an older build that shows a token is refused with a reason', () => {
    const older = pack([1, 0, 'latchkey', 'secret', 'b', 1, 1, ['a', 'of a', 7, 'c-1', 0, 3]])
    expect(isDialled(b).receive(older)).toMatchObject({ refusal: { code: 'ERR_PROTOCOL', trusted: false } })
    const welcome = pack([1, 1, 1, 'secret', ['b', 'of b', 8, 'c-1', 0, 3], null])
    expect(dials(a).receive(welcome)).toMatchObject({ by: 'us', refusal: { code: 'ERR_PROTOCOL' } })
  })

  test.each([
    ['both speak older versions alone', { least: 0, most: 0 }],
    ['both speak later versions alone', { least: 2, most: 9 }],
  ])('%s: refused by version, before any proof', (_what, { least, most }) => {
    const old = changed(changed(dials(a).greeting, 2, least), 3, most)
    expect(isDialled(b).receive(old)).toMatchObject({ refusal: { code: 'ERR_PROTOCOL', trusted: false } })
    const right = isDialled(b).receive(dials(a).greeting) as { send: Uint8Array }
    const challenge = changed(changed(right.send, 2, least), 3, most)
    expect(dials(a).receive(challenge)).toMatchObject({ by: 'us', refusal: { code: 'ERR_PROTOCOL' } })
  })
})

describe('M19: one who has not proved itself', () => {
  const hidden = ['secret', 'of a', 'of b', 'c-1']
  const shows = (frame: Uint8Array) => hidden.filter((word) => Buffer.from(frame).includes(word))

  test('reads neither the token, nor the id of the cluster, nor an incarnation', () => {
    const { frames } = met(a)
    // The greeting, the challenge and both proofs show nothing; only the hello and the welcome after them do.
    expect(frames.slice(0, 4).flatMap(shows)).toEqual([])
    expect(frames.slice(4).flatMap(shows)).toEqual(['of a', 'c-1', 'of b', 'c-1'])
  })

  test('is refused without being told anything', () => {
    for (const left of [
      { ...a, tokens: ['guess'] },
      { ...a, tokens: [] },
      { ...a, cluster: 'x' },
    ]) {
      const { dialled } = met(left)
      if (dialled?.next !== 'refused') throw new Error('not refused')
      expect(shows(encodeRefusal(dialled.refusal, b))).toEqual([])
    }
  })

  test('is not believed: no boot in its refusal says that a member is dead (TR3)', () => {
    const lie = pack([1, 2, 0, 'gone', ['b', 'of b', 99, 'c-1', 0, 3]])
    expect(dials(a).receive(lie)).toMatchObject({ next: 'refused', by: 'them', info: undefined })
    const left = dials(a)
    const challenge = isDialled(b).receive(left.greeting) as { send: Uint8Array }
    left.receive(challenge.send)
    expect(left.receive(lie)).toMatchObject({ next: 'refused', by: 'them', info: undefined })
  })

  test('one that has proved to be a member cannot say that it is another', () => {
    const left = meet(dials(a), isDialled(b), (frame, place) =>
      place === 4 ? changed(frame, 2, ['c', 'of c', 7, 'c-1', 0, 3]) : frame,
    )
    expect(left.dialled).toMatchObject({ refusal: { code: 'ERR_UNAUTHORIZED' } })
  })

  test('L22: noise at each step is refused, never an error', () => {
    const noise = [EMPTY, pack(null), pack([1, 9]), pack([1, 3]), pack([{ toString: 1, valueOf: 1 }])]
    for (const frame of noise) {
      expect(isDialled(b).receive(frame)).toMatchObject({
        next: 'refused',
        refusal: { code: 'ERR_PROTOCOL' },
      })
      expect(dials(a).receive(frame)).toMatchObject({ next: 'refused', refusal: { code: 'ERR_PROTOCOL' } })
      for (const steps of [1, 2]) {
        const [left, right] = [dials(a), isDialled(b)]
        let said = left.greeting
        for (let i = 0; i < steps; i++) {
          said = (right.receive(said) as { send: Uint8Array }).send
          if (i + 1 < steps || steps === 2) said = (left.receive(said) as { send: Uint8Array }).send
        }
        expect(right.receive(frame)).toMatchObject({ next: 'refused' })
        expect(left.receive(frame)).toMatchObject({ next: 'refused' })
      }
    }
  })
})
