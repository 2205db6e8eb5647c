// Rule: keeps the callers that wait for entries of the log. Commands are collected here until the next entry
// is proposed. Then the callers of these commands wait for the entry with its index and term. If an entry
// with another term is applied at that index, the callers learn that the outcome of their commands is unknown
// (L16, A9).

import type { LogPosition } from '../core/types.js'
import type { NodeCounters } from './node-counters.js'
import type { Applied, MachineAnswer } from './state-machine-interface.js'

export type Outcome =
  /** `time` is the cluster time of the command's entry. */
  | { readonly type: 'applied'; readonly answer: MachineAnswer; readonly time: number }
  /** The command is certainly not in the log, so the caller may send it again, to any member. */
  | { readonly type: 'refused'; readonly reason: Refusal }
  /** The command was proposed, and this member does not know whether it will be applied. */
  | { readonly type: 'unknown' }
export type Refusal = 'not-leader' | 'busy' | 'too-large' | 'closed'
/** `ticket` is the number that was passed with the command, so that one function can serve many commands. */
export type Done = (outcome: Outcome, ticket: number) => void

/**
 * A command whose bytes can be copied into an entry. `add` copies the bytes before it returns. A Buffer also
 * has `length` and `copy`, so a Buffer can be passed as a command.
 */
export interface LogRecord {
  readonly length: number
  copy(into: Buffer, at: number): unknown
}

interface Callers {
  readonly dones: readonly Done[]
  readonly tickets: readonly number[]
}

interface Waiting {
  readonly index: number
  readonly term: number
  readonly callers: Callers
  /** When the entry was proposed, in ms of the monotonic clock. */
  readonly at: number
}

export interface Batch {
  readonly data: Uint8Array
  readonly callers: Callers
}

export interface ProposalCaps {
  readonly entryBytes: number
  /**
   * In bytes, how much may wait to be proposed. A command beyond this limit is refused as 'busy'. If no other
   * command waits, a command of any size up to `entryBytes` is accepted.
   */
  readonly gatheredBytes: number
}

class Gathering {
  readonly alone: boolean
  readonly dones: Done[] = []
  readonly tickets: number[] = []
  room: Buffer
  bytes = 0

  constructor(alone: boolean, room: Buffer) {
    this.alone = alone
    this.room = room
  }

  add(record: LogRecord, done: Done, ticket: number): void {
    const end = this.bytes + record.length
    if (end > this.room.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(end, 2 * this.room.length))
      this.room.copy(larger, 0, 0, this.bytes)
      this.room = larger
    }
    record.copy(this.room, this.bytes)
    this.bytes = end
    this.dones.push(done)
    this.tickets.push(ticket)
  }

  /**
   * True if `data` returns a view of the buffer instead of a copy, because the entry is large and fills most
   * of the buffer.
   */
  get ownsItsRoom(): boolean {
    return this.bytes >= LARGE && 4 * this.bytes >= 3 * this.room.length
  }

  /**
   * The log keeps the returned bytes in memory. So the bytes are copied if a later entry may use the same
   * buffer, or if much of the buffer is empty.
   */
  data(): Uint8Array {
    if (this.ownsItsRoom) return this.room.subarray(0, this.bytes)
    const data = Buffer.allocUnsafe(this.bytes)
    this.room.copy(data, 0, 0, this.bytes)
    return data
  }
}

/**
 * In bytes, the initial size of an entry's buffer. Many entries with one command each may wait, so the size
 * is small.
 */
const ROOM = 1024
/** In bytes. A buffer up to this size is used again for the next entry. */
const KEPT_ROOM = 1024 * 1024
/**
 * In bytes. An entry of at least this size is not copied out of its buffer, if it also fills most of the
 * buffer.
 */
const LARGE = 64 * 1024

export class Proposals {
  readonly #caps: ProposalCaps
  /** The entries that wait to be proposed, oldest first. Commands are added only to the last entry. */
  #gathered: Gathering[] = []
  #bytes = 0
  /** The buffer of a proposed entry, which the next entry uses again. */
  #room: Buffer | undefined
  /** The proposed entries whose callers wait, sorted by index. */
  #waiting: Waiting[] = []

  constructor(caps: ProposalCaps) {
    this.#caps = caps
  }

  get gathered(): number {
    return this.#gathered.length
  }

  get inFlight(): number {
    return this.#waiting.length
  }

  /** With `alone` the command gets an entry of its own. Returns the reason if the command is refused. */
  add(record: LogRecord, done: Done, alone = false, ticket = 0): Refusal | undefined {
    const { length } = record
    if (length > this.#caps.entryBytes) return 'too-large'
    if (this.#bytes > 0 && this.#bytes + length > this.#caps.gatheredBytes) return 'busy'
    const last = this.#gathered[this.#gathered.length - 1]
    const grows = !alone && last?.alone === false && last.bytes + length <= this.#caps.entryBytes
    if (grows) last.add(record, done, ticket)
    else this.#gathered.push(this.#begin(record, done, alone, ticket))
    this.#bytes += length
    return undefined
  }

  #begin(record: LogRecord, done: Done, alone: boolean, ticket: number): Gathering {
    const begun = new Gathering(alone, this.#room ?? Buffer.allocUnsafeSlow(Math.max(ROOM, record.length)))
    this.#room = undefined
    begun.add(record, done, ticket)
    return begun
  }

  take(): Batch | undefined {
    const first = this.#gathered.shift()
    if (first === undefined) return undefined
    this.#bytes -= first.bytes
    const { dones, tickets } = first
    const batch = { data: first.data(), callers: { dones, tickets } }
    if (first.room.length <= KEPT_ROOM && !first.ownsItsRoom) this.#room = first.room
    return batch
  }

  proposed(index: number, term: number, batch: Batch, at: number): void {
    this.#waiting.push({ index, term, callers: batch.callers, at })
  }

  /**
   * Called when the entry with this index and term is applied. Callers that wait at this index for another
   * term get the outcome 'unknown'.
   */
  takeWaiting(index: number, term: number): Waiting | undefined {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      if (first.index > index) return undefined
      this.#waiting.shift()
      if (first.index === index && first.term === term) return first
      tell(first.callers, { type: 'unknown' })
    }
    return undefined
  }

  /** Called when the entry at this position is applied. Each caller gets the answer to its own command. */
  answer({ index, term, time }: LogPosition, answers: NonNullable<Applied['answers']>): Waiting | undefined {
    const waiting = this.takeWaiting(index, term)
    if (waiting === undefined) return undefined
    const { dones, tickets } = waiting.callers
    for (let k = 0; k < dones.length; k++) {
      const answer = answers[k]
      const done = dones[k] as Done
      const ticket = tickets[k] as number
      if (answer === undefined) done({ type: 'unknown' }, ticket)
      else done({ type: 'applied', answer, time }, ticket)
    }
    return waiting
  }

  /**
   * Called when this member does not lead any more, or closes. Commands that were not proposed are refused
   * with `reason`. Proposed commands may still be committed, so their outcome is unknown.
   */
  abandon(reason: Refusal, counters: Pick<NodeCounters, 'refused' | 'unknown'>): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const { callers } of waiting) {
      counters.unknown += callers.dones.length
      tell(callers, { type: 'unknown' })
    }
    const gathered = this.#gathered
    this.#gathered = []
    this.#bytes = 0
    for (const callers of gathered) {
      counters.refused += callers.dones.length
      tell(callers, { type: 'refused', reason })
    }
  }
}

export function tell({ dones, tickets }: Callers, outcome: Outcome): void {
  for (let k = 0; k < dones.length; k++) (dones[k] as Done)(outcome, tickets[k] as number)
}
