// Driver: a small deterministic state machine: a few registers with writes, reads and compare-and-swap, and a
// hash of the whole state. The state is on a slow disk. A crash during a write leaves the old state or the
// new state.

import type { Random } from '@latchkey/base'
import type { Entry, LogPosition, Membership } from '@latchkey/raft/core'
import type { HostProcess } from '@latchkey/raft/memory'
import type { AppliedEntry } from '../laws/law-events.js'
import type { Applied, AppliedState, SnapshotReader, SnapshotWriter, StateMachine } from '@latchkey/raft/node'

export interface Request {
  readonly id: number
  readonly client: number
  readonly kind: 'write' | 'swap' | 'read'
  readonly key: number
  readonly value: number
  readonly expected: number
  /** For the laws: the real time of the request, and the highest acknowledged index at this time. */
  readonly sentAt: number
  readonly floor: number
}

/** The answer to a command: the index of its entry, and the value of the register before the command. */
export interface Result {
  readonly request: number
  readonly index: number
  readonly term: number
  readonly seen: number
  readonly swapped: boolean
}

const COMMAND_BYTES = 24
const RESULT_BYTES = 29
const KEYS = 8
const NOWHERE: LogPosition = { index: 0, term: 0, time: 0 }

export function encodeCommand({ id, kind, key, value, expected }: Request): Buffer {
  const bytes = Buffer.alloc(COMMAND_BYTES)
  bytes.writeDoubleBE(id, 0)
  bytes[8] = kind === 'swap' ? 1 : 0
  bytes[9] = key
  bytes.writeUInt32BE(value, 12)
  bytes.writeUInt32BE(expected, 16)
  return bytes
}

function encodeResult({ request, index, term, seen, swapped }: Result): Buffer {
  const bytes = Buffer.alloc(RESULT_BYTES)
  bytes.writeDoubleBE(request, 0)
  bytes.writeDoubleBE(index, 8)
  bytes.writeDoubleBE(term, 16)
  bytes.writeUInt32BE(seen, 24)
  bytes[28] = swapped ? 1 : 0
  return bytes
}

export function decodeResult(bytes: Uint8Array): Result {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  return {
    request: buffer.readDoubleBE(0),
    index: buffer.readDoubleBE(8),
    term: buffer.readDoubleBE(16),
    seen: buffer.readUInt32BE(24),
    swapped: buffer[28] === 1,
  }
}

class Values {
  #values = new Uint32Array(KEYS)
  #hash = 17

  get hash(): number {
    return this.#hash >>> 0
  }

  read(key: number): number {
    return this.#values[key] ?? 0
  }

  /** Returns the results in the order of the commands of the entry. */
  apply({ index, term, time, kind, data }: Entry): Result[] {
    this.#mix(index)
    this.#mix(time)
    if (kind !== 'commands') return []
    const results: Result[] = []
    const buffer = Buffer.from(data.buffer, data.byteOffset, data.length)
    for (let at = 0; at + COMMAND_BYTES <= data.length; at += COMMAND_BYTES)
      results.push({ index, term, ...this.#command(buffer, at) })
    return results
  }

  #command(buffer: Buffer, at: number) {
    const key = buffer[at + 9] ?? 0
    const seen = this.read(key)
    const swapped = buffer[at + 8] !== 1 || buffer.readUInt32BE(at + 16) === seen
    if (swapped) this.#values[key] = buffer.readUInt32BE(at + 12)
    this.#mix(key)
    this.#mix(this.read(key))
    return { request: buffer.readDoubleBE(at), seen, swapped }
  }

  #mix(value: number): void {
    this.#hash = Math.imul(this.#hash ^ (value | 0), 0x01000193)
    this.#hash ^= this.#hash >>> 13
  }

  save(padding: number): Buffer {
    const bytes = Buffer.alloc(4 + KEYS * 4 + padding)
    bytes.writeInt32BE(this.#hash, 0)
    this.#values.forEach((value, key) => bytes.writeUInt32BE(value, 4 + key * 4))
    return bytes
  }

  load(bytes: Buffer): void {
    this.#hash = bytes.readInt32BE(0)
    for (let key = 0; key < KEYS; key++) this.#values[key] = bytes.readUInt32BE(4 + key * 4)
  }
}

interface Saved extends AppliedState {
  readonly bytes: Buffer
}

export class RegisterDisk {
  saved: Saved | undefined
  #writing: (() => void) | undefined
  readonly #random: Random
  /** In µs, the longest time of a write. */
  readonly #longest: number
  /** Called when a write reaches this step. The process may die then. */
  readonly #reached: (when: 'before' | 'during' | 'after') => void

  constructor(
    random: Random,
    longest: number,
    reached: (when: 'before' | 'during' | 'after') => void = () => {},
  ) {
    this.#random = random
    this.#longest = longest
    this.#reached = reached
  }

  get isWriting(): boolean {
    return this.#writing !== undefined
  }

  /** The state is durable when `done` is called. There is at most one pending write. */
  write(life: HostProcess, saved: Saved, done: () => void): void {
    const settle = () => {
      this.#writing = undefined
      this.saved = saved
    }
    this.#reached('before')
    if (life.dead) return
    this.#writing = settle
    this.#reached('during')
    life.later(this.#random.between(50, this.#longest), () => {
      settle()
      this.#reached('after')
      if (!life.dead) done()
    })
  }

  crash(): void {
    if (this.#writing !== undefined && this.#random.chance(0.5)) this.#writing()
    this.#writing = undefined
  }
}

export interface RegisterOptions {
  readonly chunkBytes: number
  /** Meaningless bytes that divide a snapshot into several pieces. */
  readonly paddingBytes: number
  /** In µs, the longest time until committed entries are applied. */
  readonly applyDelay: number
}

export interface RegisterPorts {
  applied(applied: AppliedEntry): void
  /** A snapshot is durable, and the member uses its state from now on. */
  installed(state: AppliedState, hash: number): void
}

export class Registers implements StateMachine {
  readonly #disk: RegisterDisk
  readonly #life: HostProcess
  readonly #random: Random
  readonly #options: RegisterOptions
  readonly #ports: RegisterPorts
  readonly #values = new Values()
  #state: AppliedState | undefined
  #flushed: (() => void)[] = []

  constructor(
    disk: RegisterDisk,
    life: HostProcess,
    random: Random,
    options: RegisterOptions,
    ports: RegisterPorts,
  ) {
    this.#disk = disk
    this.#life = life
    this.#random = random
    this.#options = options
    this.#ports = ports
  }

  get hash(): number {
    return this.#values.hash
  }

  read(key: number): number {
    return this.#values.read(key)
  }

  async open(): Promise<AppliedState | undefined> {
    const { saved } = this.#disk
    if (saved !== undefined) this.#values.load(saved.bytes)
    this.#state = saved
    return saved
  }

  apply(
    entries: readonly Entry[],
    membershipAt: (index: number) => Membership,
  ): readonly Applied[] | Promise<readonly Applied[]> {
    const { applyDelay } = this.#options
    if (applyDelay === 0) return this.#applyAll(entries, membershipAt)
    return new Promise((resolve, reject) => {
      this.#life.later(this.#random.between(1, applyDelay), () => {
        try {
          resolve(this.#applyAll(entries, membershipAt))
        } catch (error) {
          reject(error as Error)
        }
      })
    })
  }

  #applyAll(entries: readonly Entry[], membershipAt: (index: number) => Membership): Applied[] {
    const applied = entries.map((entry) => {
      const results = this.#values.apply(entry)
      const { index, term, time } = entry
      this.#state = { position: { index, term, time }, membership: membershipAt(index) }
      const bytes = entry.kind === 'commands' ? results.map(encodeResult) : undefined
      this.#ports.applied({ entry, answers: bytes, state: { hash: this.hash } })
      return { index, answers: bytes?.map((answer) => ({ bytes: answer, fromTable: false })) }
    })
    if (!this.#disk.isWriting) this.#save()
    return applied
  }

  #save(): void {
    const state = this.#state
    if (state === undefined) return
    const saved = { ...state, bytes: this.#values.save(this.#options.paddingBytes) }
    this.#disk.write(this.#life, saved, () => {
      if (this.#state !== state) return this.#save()
      for (const done of this.#flushed.splice(0)) done()
    })
  }

  durable(): LogPosition {
    return this.#disk.saved?.position ?? NOWHERE
  }

  flush(): Promise<void> {
    if (this.#state === undefined || this.#disk.saved?.position === this.#state.position)
      return Promise.resolve()
    const flushed = new Promise<void>((resolve) => this.#flushed.push(resolve))
    if (!this.#disk.isWriting) this.#save()
    return flushed
  }

  nextDeadline(): undefined {
    return undefined
  }

  async snapshot(): Promise<SnapshotReader> {
    await this.#moment()
    const state = this.#state
    if (state === undefined) throw new Error('there is no state to send yet')
    let rest = this.#values.save(this.#options.paddingBytes)
    return {
      state,
      read: async (max) => {
        await this.#moment()
        const piece = rest.subarray(0, Math.min(max, this.#options.chunkBytes))
        rest = rest.subarray(piece.length)
        return piece.length === 0 ? undefined : piece
      },
      close: () => {},
    }
  }

  /** If the process dies during the read, the promise never resolves. */
  #moment(): Promise<void> {
    return new Promise((resolve) => this.#life.later(this.#random.between(20, 500), resolve))
  }

  async receive(state: AppliedState): Promise<SnapshotWriter> {
    const pieces: Uint8Array[] = []
    return {
      write: async (piece) => {
        await this.#moment()
        pieces.push(piece.slice())
      },
      install: () => this.#install(state, Buffer.concat(pieces)),
      abort: async () => {},
    }
  }

  async #install(state: AppliedState, bytes: Buffer): Promise<void> {
    if (bytes.length < 4 + KEYS * 4) throw new Error('the snapshot is incomplete')
    if (this.#disk.isWriting) await this.flush()
    await new Promise<void>((resolve) => this.#disk.write(this.#life, { ...state, bytes }, resolve))
    this.#values.load(bytes)
    this.#state = state
    this.#ports.installed(state, this.hash)
  }

  close(): Promise<void> {
    return this.flush()
  }
}
