// Driver: the calls of store.latches.

import { copyBytes } from '@latchkey/base'
import {
  type As,
  type Bytes,
  CALL_OPTIONS,
  type CallOptions,
  callArgs,
  keyBelow,
  type Command,
  knownNames,
  type LatchInfo,
  LatchkeyError,
  type ListOptions,
  OP,
  PARTY_OF,
  READ,
  readArgs,
  toBound,
  toLatchInfos,
  show,
  showKey,
  toKeyCopy,
} from '@latchkey/protocol'
import { type PartyPort, PartyWait } from './latch-and-barrier-wait.js'

/**
 * Returns the stored name of a latch or barrier. The stored name begins with the prefix of
 * `store.sub(prefix)`.
 */
export const nameBelow = (prefix: Uint8Array, name: unknown): Uint8Array =>
  keyBelow(prefix, toKeyCopy(name, 'name'), 'name')

export const LIST_OPTIONS = knownNames('as', 'timeout', 'signal')

export const prefixBelow = (prefix: Uint8Array, below: unknown): Uint8Array =>
  below === undefined ? prefix : keyBelow(prefix, toBound(below, 'prefix'), 'prefix')

/** Copies the name for error messages, because the caller may reuse its bytes. */
export const copyName = (name: Bytes): Bytes => (typeof name === 'string' ? name : copyBytes(name))

/**
 * A latch counts down once and then opens for all its waiters. Typical uses are "continue when the migration
 * is done" and "continue when ten jobs are ready". A latch stays open until a caller removes it. See
 * docs/latches.md.
 */
export class Latches {
  readonly #port: PartyPort
  readonly #prefix: Uint8Array

  /** Internal: the store creates this object. */
  constructor(port: PartyPort, prefix: Uint8Array) {
    this.#port = port
    this.#prefix = prefix
  }

  /**
   * Resolves to false and changes nothing if a latch of this name exists. A latch with the count 0 is open
   * from the start.
   * ```ts
   * await store.latches.create('migrated', 3)
   * ```
   */
  async create(name: Bytes, count: number, options?: CallOptions): Promise<boolean> {
    if (!Number.isSafeInteger(count) || count < 0)
      throw new TypeError(`count must be a whole number, 0 or more; got ${show(count)}`)
    return (await this.#command(
      [OP.createLatch, nameBelow(this.#prefix, name), count],
      'latches.create',
      options,
    )) as boolean
  }

  /**
   * Resolves to the remaining count. If the count is 0, the latch is open. The count never goes below 0.
   * Rejects with ERR_MISMATCH if the latch does not exist.
   */
  async countDown(name: Bytes, by = 1, options?: CallOptions): Promise<number> {
    if (!Number.isSafeInteger(by) || by < 1)
      throw new TypeError(`by must be a positive whole number; got ${show(by)}`)
    const left = await this.#command(
      [OP.countDown, nameBelow(this.#prefix, name), by],
      'latches.countDown',
      options,
    )
    if (left === null) throw noLatch(name)
    return left as number
  }

  /**
   * Resolves when the latch is open. By default the call waits without a time limit. Rejects with
   * ERR_MISMATCH if the latch does not exist, or if another caller removes the latch. Rejects with
   * ERR_TIMEOUT after the timeout, and the message has the remaining count.
   */
  async wait(name: Bytes, options?: CallOptions): Promise<void> {
    const { timeout, signal } = callArgs('latches.wait', options, null, CALL_OPTIONS)
    const stored = nameBelow(this.#prefix, name)
    const given = copyName(name)
    const [state] = await new PartyWait(this.#port, {
      of: PARTY_OF.latch,
      name: stored,
      given,
      wait: timeout,
      signal,
      command: (id, wait) => [OP.waitLatch, stored, id, wait],
      missing: (left) =>
        left === undefined || left[3] === 0
          ? `the latch ${show(given)} did not open.`
          : `the latch ${show(given)} has still to count down by ${left[3]}.`,
    }).run()
    if (state === 'absent') throw noLatch(given)
    if (state === 'removed')
      throw new LatchkeyError(
        'ERR_MISMATCH',
        `The latch ${show(given)} was removed while this call waited for it. Create it again, if it is still wanted.`,
        { key: given },
      )
  }

  /**
   * Removes a latch. Resolves to true if the latch existed. Calls that wait for the latch reject with
   * ERR_MISMATCH.
   */
  async remove(name: Bytes, options?: CallOptions): Promise<boolean> {
    return (await this.#command(
      [OP.removeLatch, nameBelow(this.#prefix, name)],
      'latches.remove',
      options,
    )) as boolean
  }

  /**
   * Lists all latches whose names begin with `prefix`, in the order of their names. The read is linearizable.
   */
  async query<A extends As = As>(prefix?: Bytes, options?: ListOptions<A>): Promise<LatchInfo<A>[]> {
    const { decoding } = this.#port
    const { timeout, signal, ...how } = readArgs('latches.query', options, decoding, LIST_OPTIONS)
    const read = [READ.parties, PARTY_OF.latch, prefixBelow(this.#prefix, prefix)] as const
    const rows = await this.#port.read(read, { timeout, signal })
    return toLatchInfos(rows, how) as LatchInfo<A>[]
  }

  #command(command: Command, call: string, options: CallOptions | undefined): Promise<unknown> {
    return this.#port.command(command, callArgs(call, options)).result
  }
}

function noLatch(name: Bytes): LatchkeyError {
  const message = `There is no latch ${showKey(name)}. Create it first: latches.create(name, count) resolves to false if it is there already.`
  return new LatchkeyError('ERR_MISMATCH', message, { key: copyName(name) })
}
