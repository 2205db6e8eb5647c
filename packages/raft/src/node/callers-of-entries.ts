// Rule: which callers wait for which entry. Commands gather here until the next entry is closed. Then their
// callers wait for the entry with exactly that index and term. If another entry is applied at that index, the
// callers learn that their command is not in it (L16, A9).

import type { LogPosition } from '../core/types.js'
import type { NodeCounters } from './node-counters.js'
import type { Applied, MachineAnswer } from './state-machine.js'

/** The result of a command that was passed to `submit`. */
export type Outcome =
  /** The command was applied. `time` is the cluster time of the command's entry. */
  | { readonly type: 'applied'; readonly answer: MachineAnswer; readonly time: number }
  /** The command is certainly not in the log. So the caller may send the command again, to any member. */
  | { readonly type: 'refused'; readonly reason: Refusal }
  /** The command was proposed. This member does not know whether the command's entry will be committed. */
  | { readonly type: 'unknown' }
export type Refusal = 'not-leader' | 'busy' | 'too-large' | 'closed'
/**
 * Called with the ticket that came with the command, so that one function can serve all commands of a caller.
 */
export type Done = (outcome: Outcome, ticket: number) => void

/**
 * A command, as the log stores it. The command is copied into its entry before `add` returns. A Buffer has
 * the fields of a LogRecord too.
 */
export interface LogRecord {
  readonly length: number
  copy(into: Buffer, at: number): unknown
}

/** The callers of one entry's commands: the function and the ticket of each caller. */
interface Callers {
  readonly dones: readonly Done[]
  readonly tickets: readonly number[]
}

interface Waiting {
  readonly index: number
  readonly term: number
  readonly callers: Callers
  /** In ms, when the entry was proposed, on the monotonic clock. */
  readonly at: number
}

/** The next entry's bytes, and its callers. */
export interface Batch {
  readonly data: Uint8Array
  readonly callers: Callers
}

export interface ProposalCaps {
  readonly entryBytes: number
  /**
   * In bytes, how many commands may gather before the next entry. Beyond this limit a command is refused as
   * busy, unless no other command has gathered.
   */
  readonly gatheredBytes: number
}

/** An entry to which commands are still added, or which waits to be proposed. */
class Gathering {
  /** True if no other command may be added to the entry. */
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
   * True if the entry keeps its buffer. A large entry keeps its buffer to save a copy, unless much of the
   * buffer is empty.
   */
  get ownsItsRoom(): boolean {
    return this.bytes >= LARGE && 4 * this.bytes >= 3 * this.room.length
  }

  /** Returns the bytes, which the log keeps. */
  data(): Uint8Array {
    if (this.ownsItsRoom) return this.room.subarray(0, this.bytes)
    const data = Buffer.allocUnsafe(this.bytes)
    this.room.copy(data, 0, 0, this.bytes)
    return data
  }
}

/**
 * In bytes, the first size of an entry's buffer. It is small, because many entries may wait with one command
 * each.
 */
const ROOM = 1024
/** In bytes. A larger buffer is not kept for later entries. */
const KEPT_ROOM = 1024 * 1024
/** In bytes. An entry of at least this size is not copied out of its buffer. */
const LARGE = 64 * 1024

export class Proposals {
  readonly #caps: ProposalCaps
  /** The entries that wait to be proposed, in order of arrival. Only the last entry may still grow. */
  #gathered: Gathering[] = []
  #bytes = 0
  /** The buffer of an entry that was proposed. The next entry uses it again. */
  #room: Buffer | undefined
  /** In order of index. */
  #waiting: Waiting[] = []

  constructor(caps: ProposalCaps) {
    this.#caps = caps
  }

  /** The number of entries that wait to be proposed. */
  get gathered(): number {
    return this.#gathered.length
  }

  get inFlight(): number {
    return this.#waiting.length
  }

  /** `alone`: in an entry of its own. */
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

  /**
   * Takes the next entry: all gathered commands, up to the cap of an entry or up to a command that
   * must be alone.
   */
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
   * Called when the entry at `index` is applied. Returns the callers that wait for an entry at that index, if
   * its term is `term`. If its term is another one, these callers get `unknown`.
   */
  settle(index: number, term: number): Waiting | undefined {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      if (first.index > index) return undefined
      this.#waiting.shift()
      if (first.index === index && first.term === term) return first
      tell(first.callers, { type: 'unknown' })
    }
    return undefined
  }

  /**
   * Called when the entry is applied. Each caller gets the answer to its own command. Returns the entry if
   * callers waited for it.
   */
  answer({ index, term, time }: LogPosition, answers: NonNullable<Applied['answers']>): Waiting | undefined {
    const waiting = this.settle(index, term)
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
   * Called when this member does not lead any more. Gathered commands were never proposed, so they are
   * refused. Proposed commands may still commit, so their outcome is unknown.
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
