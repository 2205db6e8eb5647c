// Driver: counts requests of clients by kind and answers by code, and measures how long some requests take.
// Each source of calls (`CallSource`) is counted separately.
//
// Laws
//   - The member counts a request with two additions, and reads the clock for one request in SAMPLE.
//   - The labels of metrics are a fixed set: a kind or a code that this build does not know counts as
//     'other'. Without this law: a stranger sends a million kinds, and each kind stays in the metrics for
//     ever.

import { type Clock, Histogram } from '@latchkey/base'
import {
  type AnswerReply,
  codeOf,
  commandName,
  decodeAnswer,
  OPERATION_LIMIT,
  type LinkRequest,
  opOf,
  readName,
} from '@latchkey/protocol'

/**
 * One request in this many is timed. The code uses the number as a bit mask, so it must be a power of two.
 */
const SAMPLE = 16
/** The most requests of one connection that are timed at the same time. Further requests are not timed. */
const MOST_TIMED = 256

/**
 * websocket: clients on a WebSocket. process: the store in this process, and HTTP callers. member: stores in
 * other members.
 */
export const CALL_SOURCES = ['websocket', 'process', 'member'] as const
export type CallSource = (typeof CALL_SOURCES)[number]

export type CallCounters = Readonly<Record<CallSource, SourceCounters>>

export const newCallCounters = (clock: Pick<Clock, 'now'>): CallCounters => ({
  websocket: new SourceCounters(clock),
  process: new SourceCounters(clock),
  member: new SourceCounters(clock),
})

export class SourceCounters {
  readonly #clock: Pick<Clock, 'now'>
  readonly #commands = new Float64Array(OPERATION_LIMIT)
  readonly #reads = new Float64Array(OPERATION_LIMIT)
  #admin = 0
  #watches = 0
  #seen = 0
  #answered = 0
  readonly #errors = new Map<string, number>()
  /** In seconds, from the arrival at this member to the answer. */
  readonly writes = new Histogram()
  readonly readTimes = new Histogram()

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  came(request: LinkRequest, timed: TimedRequests): void {
    switch (request.kind) {
      case 'command': {
        const op = opOf(request.body)
        this.#commands[op] = (this.#commands[op] as number) + 1
        if ((++this.#seen & (SAMPLE - 1)) === 1) timed.begin(request.id, this.#clock.now(), this.writes)
        return
      }
      case 'read': {
        const read = request.read[0] & (OPERATION_LIMIT - 1)
        this.#reads[read] = (this.#reads[read] as number) + 1
        if ((++this.#seen & (SAMPLE - 1)) === 1) timed.begin(request.id, this.#clock.now(), this.readTimes)
        return
      }
      case 'admin':
        this.#admin++
        return
      case 'watch':
        this.#watches++
        return
      default:
    }
  }

  answered({ id, answer }: AnswerReply, timed: TimedRequests): void {
    this.#answered++
    if (timed.size > 0) timed.end(id, this.#clock)
    const code = errorCodeIn(answer)
    if (code === undefined) return
    this.#errors.set(code, (this.#errors.get(code) ?? 0) + 1)
  }

  /** The number of requests by kind. Kinds without a request are left out. */
  requests(): Map<string, number> {
    const counts = new Map([
      ['admin', this.#admin],
      ['watch', this.#watches],
    ])
    const add = (kind: string, count: number) => {
      if (count > 0) counts.set(kind, (counts.get(kind) ?? 0) + count)
    }
    for (const [op, count] of this.#commands.entries()) add(commandName(op), count)
    for (const [read, count] of this.#reads.entries()) add(readName(read), count)
    return counts
  }

  /** The number of answers by error code. 'ok' stands for answers without an error. */
  answers(): Map<string, number> {
    const failed = [...this.#errors.values()].reduce((sum, count) => sum + count, 0)
    return new Map([['ok', this.#answered - failed], ...this.#errors])
  }
}

export function errorCodeIn(answer: AnswerReply['answer']): string | undefined {
  if (answer instanceof Uint8Array ? answer[1] === 0 : answer[0] === 0) return undefined
  return codeOf(answer instanceof Uint8Array ? decodeAnswer(answer) : answer)
}

export class TimedRequests {
  readonly #begun = new Map<number, { readonly at: number; readonly into: Histogram }>()

  get size(): number {
    return this.#begun.size
  }

  begin(id: number, at: number, into: Histogram): void {
    if (this.#begun.size < MOST_TIMED) this.#begun.set(id, { at, into })
  }

  end(id: number, clock: Pick<Clock, 'now'>): void {
    const begun = this.#begun.get(id)
    if (begun === undefined) return
    this.#begun.delete(id)
    begun.into.observe((clock.now() - begun.at) / 1000)
  }
}
