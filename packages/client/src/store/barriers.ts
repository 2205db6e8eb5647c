// Driver: the calls of store.barriers.

import {
  type As,
  type BarrierInfo,
  type Bytes,
  CAPS,
  type Duration,
  knownNames,
  LatchkeyError,
  type ListOptions,
  millis,
  OP,
  PARTY_OF,
  READ,
  readArgs,
  toBarrierInfos,
  refuseUnknown,
  show,
  showKey,
  toRecord,
  toSignal,
} from '@latchkey/protocol'
import { LIST_OPTIONS, copyName, nameBelow, prefixBelow } from './latches.js'
import { type PartyPort, PartyWait } from './latch-and-barrier-wait.js'

export interface EnterOptions {
  /**
   * How many callers must arrive before the barrier opens. These callers are the parties of the barrier. The
   * number is from 1 to 10,000, and the same for all parties of one generation.
   */
  parties: number
  /** How long to wait for the other parties. The default is no limit. */
  wait?: Duration | undefined
  signal?: AbortSignal | undefined
}

/**
 * The result for each party of a generation. A generation is one use of the barrier, from the first arrival
 * until the barrier opens.
 */
export interface Passage {
  /** The number of the generation. The first generation of a barrier has the number 1. */
  generation: number
  /** The party's place in the order of arrival, from 0. */
  index: number
}

const ENTER_OPTIONS = knownNames('parties', 'wait', 'signal')

/**
 * At a barrier, a number of callers, the parties, wait for each other. They continue when all have arrived. A
 * barrier can be used many times. See docs/latches.md.
 */
export class Barriers {
  readonly #port: PartyPort
  readonly #prefix: Uint8Array

  /** Internal: the store creates this object. */
  constructor(port: PartyPort, prefix: Uint8Array) {
    this.#port = port
    this.#prefix = prefix
  }

  /**
   * Waits until all parties have arrived.
   * ```ts
   * const { index } = await store.barriers.enter('round', { parties: 3, wait: '30s' })
   * if (index === 0) await collectResults() // one of them does what only one may do
   * ```
   * Rejects with ERR_BARRIER_BROKEN if the session of a waiting party ends. Rejects with ERR_MISMATCH if the
   * waiting callers gave another number of parties, which is `error.present`. Rejects with ERR_TIMEOUT after
   * the time `wait`. The error's message has the number of missing parties.
   */
  async enter(name: Bytes, options: EnterOptions): Promise<Passage> {
    const { parties, wait, signal } = enterArgs(options)
    const stored = nameBelow(this.#prefix, name)
    const given = copyName(name)
    const [state, generation, index, count] = await new PartyWait(this.#port, {
      of: PARTY_OF.barrier,
      name: stored,
      given,
      wait,
      signal,
      command: (id, ms) => [OP.enterBarrier, stored, id, parties, ms],
      missing: (left) => {
        if (left === undefined) return `the barrier ${show(given)} was not complete.`
        const others = left[0] === 'waiting' ? left[3] : left[3] + 1
        const lacking = Math.max(1, parties - others)
        return `${lacking} of the ${parties} parties of the barrier ${show(given)} ${lacking === 1 ? 'was' : 'were'} missing.`
      },
    }).run()
    if (state === 'mismatch') throw mismatch(given, parties, count)
    if (state !== 'passed') throw broken(given, generation, state === 'unknown')
    return { generation, index }
  }

  /**
   * Lists all barriers that have waiters and whose names begin with `prefix`. The list is sorted by name. The
   * read is linearizable.
   */
  async query<A extends As = As>(prefix?: Bytes, options?: ListOptions<A>): Promise<BarrierInfo<A>[]> {
    const { decoding } = this.#port
    const { timeout, signal, ...how } = readArgs('barriers.query', options, decoding, LIST_OPTIONS)
    const read = [READ.parties, PARTY_OF.barrier, prefixBelow(this.#prefix, prefix)] as const
    const rows = await this.#port.read(read, { timeout, signal })
    return toBarrierInfos(rows, how) as BarrierInfo<A>[]
  }
}

function enterArgs(options: EnterOptions) {
  const given = toRecord(options, 'options') as Partial<EnterOptions>
  refuseUnknown(given, ENTER_OPTIONS, 'option', 'barriers.enter')
  const { parties, wait, signal } = given
  if (!Number.isSafeInteger(parties) || (parties as number) < 1 || (parties as number) > CAPS.partiesOfOne)
    throw new TypeError(`parties must be a whole number from 1 to ${CAPS.partiesOfOne}; got ${show(parties)}`)
  return {
    parties: parties as number,
    wait: wait === undefined ? undefined : millis(wait, 'wait'),
    signal: toSignal(signal),
  }
}

function mismatch(name: Bytes, asked: number, present: number): LatchkeyError {
  const message = `Those who wait at the barrier ${showKey(name)} wait for ${present} parties; this call named ${asked}. Name ${present}, or wait until that generation is over.`
  return new LatchkeyError('ERR_MISMATCH', message, { key: name, present })
}

function broken(name: Bytes, generation: number, isOwn: boolean): LatchkeyError {
  const what = isOwn
    ? `The session of this store ended while it waited at the barrier ${showKey(name)}, so that its party was taken out.`
    : `Generation ${generation} of the barrier ${showKey(name)} was broken: the session of a party ended while it waited.`
  return new LatchkeyError(
    'ERR_BARRIER_BROKEN',
    `${what} Enter again when the work that comes before it is right again.`,
    { key: name },
  )
}
