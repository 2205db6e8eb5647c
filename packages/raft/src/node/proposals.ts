// Rule: who waits for what. Commands gather here until the next entry is closed; then their callers wait for the entry at
// that very (index, term). Whatever else comes to stand at that index, they are told that their command is not it (L16, A9).

import type { LogPosition } from '../core/types.js'
import type { Applied, MachineAnswer } from './state-machine.js'

/** What became of a command that was handed to `submit`. */
export type Outcome =
  /** `time`: of its entry. */
  | { readonly type: 'applied'; readonly answer: MachineAnswer; readonly time: number }
  /** Certainly not in the log by this attempt: it may be sent again to anybody. */
  | { readonly type: 'refused'; readonly reason: Refusal }
  /** It was handed on; whether it commits is not known here. */
  | { readonly type: 'unknown' }
export type Refusal = 'not-leader' | 'busy' | 'too-large' | 'closed'
/** Told with the number that came with the command: so one function serves all commands of a caller. */
export type Done = (outcome: Outcome, ticket: number) => void

/** A command as the log holds it. It is copied straight into its entry before `add` returns. A Buffer is one. */
export interface LogRecord {
  readonly length: number
  copy(into: Buffer, at: number): unknown
}

/** Who handed in the commands of one entry: each one's function and number. */
interface Callers {
  readonly dones: readonly Done[]
  readonly tickets: readonly number[]
}

interface Waiting {
  readonly index: number
  readonly term: number
  readonly callers: Callers
}

/** The next entry's bytes, and who waits for it. */
export interface Batch {
  readonly data: Uint8Array
  readonly callers: Callers
}

export interface ProposalCaps {
  readonly entryBytes: number
  /** Bytes that may gather before the next entry: refused as busy beyond, but one command at least. */
  readonly gatheredBytes: number
}

/** An entry that still grows, or that waits for its turn. */
class Gathering {
  /** It must not grow. */
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

  /** Bytes of their own: the log keeps them, while the room is used again. */
  data(): Uint8Array {
    const data = Buffer.allocUnsafe(this.bytes)
    this.room.copy(data, 0, 0, this.bytes)
    return data
  }
}

/** Room of an entry that is just begun. Many may be, each with one command that has to be alone. */
const ROOM = 1024
/** A larger room is not kept for the entries to come. */
const KEPT_ROOM = 1024 * 1024

export class Proposals {
  readonly #caps: ProposalCaps
  /** In the order of their coming; only the last one may still grow. */
  #gathered: Gathering[] = []
  #bytes = 0
  /** Of an entry that was taken, for the next one. */
  #room: Buffer | undefined
  /** In order of index. */
  #waiting: Waiting[] = []

  constructor(caps: ProposalCaps) {
    this.#caps = caps
  }

  /** Entries that wait to be proposed. */
  get gathered(): number {
    return this.#gathered.length
  }

  get inFlight(): number {
    return this.#waiting.length
  }

  /** `alone`: an entry of its own. */
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

  /** The next entry: all that gathered, up to the entry's cap or to one that has to be alone. */
  take(): Batch | undefined {
    const first = this.#gathered.shift()
    if (first === undefined) return undefined
    this.#bytes -= first.bytes
    const { dones, tickets } = first
    const batch = { data: first.data(), callers: { dones, tickets } }
    if (first.room.length <= KEPT_ROOM) this.#room = first.room
    return batch
  }

  proposed(index: number, term: number, batch: Batch): void {
    this.#waiting.push({ index, term, callers: batch.callers })
  }

  /** The entry at `index` is applied: its callers, when it is theirs; others who waited for that index are told `unknown`. */
  settle(index: number, term: number): Callers | undefined {
    while (this.#waiting.length > 0) {
      const first = this.#waiting[0] as Waiting
      if (first.index > index) return undefined
      this.#waiting.shift()
      if (first.index === index && first.term === term) return first.callers
      tell(first.callers, { type: 'unknown' })
    }
    return undefined
  }

  /** The entry is applied: its callers are answered, each with what its own command came to. */
  answer({ index, term, time }: LogPosition, answers: NonNullable<Applied['answers']>): void {
    const callers = this.settle(index, term)
    if (callers === undefined) return
    const { dones, tickets } = callers
    for (let k = 0; k < dones.length; k++) {
      const answer = answers[k]
      const done = dones[k] as Done
      const ticket = tickets[k] as number
      if (answer === undefined) done({ type: 'unknown' }, ticket)
      else done({ type: 'applied', answer, time }, ticket)
    }
  }

  /** Leadership is gone: what gathered was never handed on; what was proposed may still commit. */
  abandon(reason: Refusal): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const { callers } of waiting) tell(callers, { type: 'unknown' })
    const gathered = this.#gathered
    this.#gathered = []
    this.#bytes = 0
    for (const callers of gathered) tell(callers, { type: 'refused', reason })
  }
}

export function tell({ dones, tickets }: Callers, outcome: Outcome): void {
  for (let k = 0; k < dones.length; k++) (dones[k] as Done)(outcome, tickets[k] as number)
}
