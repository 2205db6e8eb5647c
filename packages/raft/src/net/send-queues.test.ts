// Test: which messages the next frame to another member contains.

import { CAPS } from '@latchkey/protocol'
import { describe, expect, test } from 'vitest'
import type { Message } from '../core/types.js'
import { toMessage } from './message-decoder.js'
import { Assembly, FRAME_LIMIT } from './frames.js'
import { APP } from './message-encoder.js'
import { LANE_CAPS, SendQueues } from './send-queues.js'
import { FROM, TO } from './testing/messages.js'

const envelope = { group: 0, from: FROM, to: TO, term: 3 } as const
const heartbeat = (round: number): Message => ({ ...envelope, type: 'heartbeat', commit: 1, round })
const append = (index: number, bytes: number): Message => ({
  ...envelope,
  type: 'append',
  prevIndex: index - 1,
  prevTerm: 1,
  commit: 0,
  entries: [{ index, term: 3, time: 1, kind: 'commands', data: new Uint8Array(bytes).fill(index) }],
  round: 0,
})

interface Heard {
  readonly frames: number
  /** 'heartbeat 7', 'append 3', 'app 5', in the order of their arrival. */
  readonly said: string[]
}

class Reader {
  readonly #assembly = new Assembly()
  readonly heard: Heard & { frames: number } = { frames: 0, said: [] }

  take(frame: Uint8Array): void {
    this.heard.frames++
    if (frame.length > FRAME_LIMIT) throw new Error('a frame is too long')
    // The peer has a copy of its own.
    const parcels = this.#assembly.take(Buffer.from(frame))
    if (typeof parcels === 'string') throw new Error(parcels)
    for (const parcel of parcels) this.heard.said.push(nameOf(parcel))
  }
}

function nameOf(parcel: Exclude<ReturnType<Assembly['take']>, string>[number]): string {
  if (parcel.item[0] === APP) return `app ${parcel.blobs[0]?.length}`
  const message = toMessage(parcel, FROM, TO)
  if (typeof message !== 'object') throw new Error(message)
  if (message.type === 'append') return `append ${message.prevIndex + 1}`
  return `${message.type} ${'round' in message ? message.round : ''}`.trim()
}

function drain(sendQueues: SendQueues, reader = new Reader()): Heard {
  for (let frame = sendQueues.next(true); frame !== undefined; frame = sendQueues.next(true))
    reader.take(frame)
  return reader.heard
}

describe('lanes', () => {
  test('all that waits goes into one frame', () => {
    const sendQueues = new SendQueues()
    for (let i = 1; i <= 20; i++) sendQueues.add(append(i, 1000))
    for (let i = 1; i <= 20; i++) sendQueues.add(heartbeat(i))
    sendQueues.addApp(new Uint8Array(7))
    const { frames, said } = drain(sendQueues)
    expect(frames).toBe(1)
    expect(said).toHaveLength(41)
    expect(sendQueues.empty).toBe(true)
    expect(sendQueues.bytes).toBe(0)
  })

  test('thousands of messages that waited all leave, in their order', () => {
    const sendQueues = new SendQueues()
    const rounds = Array.from({ length: 4_000 }, (_, i) => i + 1)
    for (const round of rounds) sendQueues.add(heartbeat(round))
    expect(drain(sendQueues).said).toEqual(rounds.map((round) => `heartbeat ${round}`))
    expect([sendQueues.empty, sendQueues.bytes]).toEqual([true, 0])
  })

  test('a piece of a snapshot of exactly one frame travels uncut', () => {
    const sendQueues = new SendQueues()
    sendQueues.add(append(1, CAPS.frameBytes))
    expect(drain(sendQueues)).toEqual({ frames: 1, said: ['append 1'] })
  })

  test('A11: a heartbeat waits for one piece of a long message at most', () => {
    const sendQueues = new SendQueues()
    const reader = new Reader()
    sendQueues.add(append(1, 8 * 1024 * 1024))
    reader.take(sendQueues.next(true) as Uint8Array)
    sendQueues.add(heartbeat(1))
    reader.take(sendQueues.next(true) as Uint8Array)
    expect(reader.heard.said).toEqual(['heartbeat 1'])
    drain(sendQueues, reader)
    expect(reader.heard.said).toEqual(['heartbeat 1', 'append 1'])
    expect(reader.heard.frames).toBe(1 + 33)
  })

  test('small messages pass a peer that reads slowly, the rest waits', () => {
    const sendQueues = new SendQueues()
    const reader = new Reader()
    sendQueues.add(append(1, 10))
    sendQueues.addApp(new Uint8Array(5))
    expect(sendQueues.next(false)).toBeUndefined()
    sendQueues.add(heartbeat(1))
    reader.take(sendQueues.next(false) as Uint8Array)
    expect(sendQueues.next(false)).toBeUndefined()
    drain(sendQueues, reader)
    expect(reader.heard.said).toEqual(['heartbeat 1', 'append 1', 'app 5'])
  })

  test('the log and the layer above keep their order, each, whatever is cut', () => {
    const sendQueues = new SendQueues()
    const sizes = [10, 600_000, 20, 300_000, 30, 900_000, 40]
    sizes.forEach((bytes, i) => sendQueues.add(append(i + 1, bytes)))
    for (const bytes of sizes) sendQueues.addApp(new Uint8Array(bytes + 1))
    const { said } = drain(sendQueues)
    expect(said.filter((one) => one.startsWith('append'))).toEqual(sizes.map((_, i) => `append ${i + 1}`))
    expect(said.filter((one) => one.startsWith('app '))).toEqual(sizes.map((bytes) => `app ${bytes + 1}`))
  })

  test('a long message of the log does not keep the layer above waiting, nor the other way round', () => {
    for (const [long, short] of [
      [
        (sendQueues: SendQueues) => sendQueues.add(append(1, 4_000_000)),
        (sendQueues: SendQueues) => sendQueues.addApp(new Uint8Array(9)),
      ],
      [
        (sendQueues: SendQueues) => sendQueues.addApp(new Uint8Array(4_000_000)),
        (sendQueues: SendQueues) => sendQueues.add(append(1, 9)),
      ],
    ] as const) {
      const sendQueues = new SendQueues()
      const reader = new Reader()
      long(sendQueues)
      reader.take(sendQueues.next(true) as Uint8Array)
      short(sendQueues)
      reader.take(sendQueues.next(true) as Uint8Array)
      expect(reader.heard.said).toHaveLength(1)
    }
  })

  test('neither side of a steady stream starves the other', () => {
    const sendQueues = new SendQueues()
    const reader = new Reader()
    for (let i = 1; i <= 40; i++) sendQueues.add(append(i, 200_000))
    for (let i = 1; i <= 40; i++) sendQueues.addApp(new Uint8Array(200_000))
    for (let i = 0; i < 10; i++) reader.take(sendQueues.next(true) as Uint8Array)
    const apps = reader.heard.said.filter((one) => one.startsWith('app ')).length
    expect(apps).toBeGreaterThanOrEqual(4)
    expect(apps).toBeLessThanOrEqual(6)
  })

  test('L18: what a slow peer does not take is dropped, and never more than the cap waits', () => {
    const sendQueues = new SendQueues()
    let most = 0
    for (let i = 1; i <= 200; i++) {
      sendQueues.add(append(i, 1024 * 1024))
      most = Math.max(most, sendQueues.bytes)
    }
    expect(most).toBeLessThanOrEqual(LANE_CAPS.logBytes)
    expect(sendQueues.dropped).toBeGreaterThan(150)
    for (let i = 0; i < 10_000; i++) sendQueues.add(heartbeat(i))
    expect(sendQueues.bytes).toBeLessThanOrEqual(LANE_CAPS.logBytes + LANE_CAPS.smallMessages * 128)
    // The remaining messages have no gap.
    const numbers = drain(sendQueues)
      .said.filter((one) => one.startsWith('append'))
      .map((one) => Number(one.split(' ')[1]))
    expect(numbers).toEqual(numbers.map((_, i) => (numbers[0] as number) + i))
    expect(numbers.at(-1)).toBe(200)
  })

  test('L18: a message of the layer above is not taken when there is no more room', () => {
    const sendQueues = new SendQueues({ ...LANE_CAPS, appBytes: 1000 })
    expect(sendQueues.addApp(new Uint8Array(500))).toBe(true)
    expect(sendQueues.addApp(new Uint8Array(500))).toBe(false)
    drain(sendQueues)
    expect(sendQueues.addApp(new Uint8Array(500))).toBe(true)
    expect(new SendQueues().addApp(new Uint8Array(CAPS.maxPayload))).toBe(false)
  })

  test('an append of more entries than a receiver takes is shortened, not refused', () => {
    const sendQueues = new SendQueues()
    const entry = { term: 3, time: 1, kind: 'empty', data: new Uint8Array(0) } as const
    const entries = Array.from({ length: 40_000 }, (_, i) => ({ ...entry, index: i + 1 }))
    sendQueues.add({ ...append(1, 0), entries } as Message)
    const reader = new Reader()
    expect(() => drain(sendQueues, reader)).not.toThrow()
    expect(reader.heard.said).toEqual(['append 1'])
  })
})
