// Driver: owns the deleteRanges that are about to be written into the log of this member, which leads. What they will meet is added up
// before (kv, range-surveys.ts), so that applying them is short and the renewals of others do not wait for it.
//
// Laws
//   - what a session writes after its deleteRange is written into the log behind it: a client that sends both at once, and
//     does not wait, finds the second one there. Locks and the session's own life wait for nothing
//   - no more than so many wait for one survey; beyond that nothing is promised of their order

import type { KvStore } from '@latchkey/kv'
import { OP } from '@latchkey/protocol'

const MOST_WAITING = 1_024

/** A command is a short array, and its first place a small number: one byte each. */
const opOf = (body: Uint8Array): number | undefined => body[1]

export class LargeRanges {
  readonly #kv: KvStore
  readonly #waiting = new Map<number, (() => void)[]>()

  constructor(kv: KvStore) {
    this.#kv = kv
  }

  /** May it have to wait? Asked for every command. */
  concerns(body: Uint8Array): boolean {
    return this.#waiting.size > 0 || opOf(body) === OP.deleteRange
  }

  /** `submit`: hands it to the log. Called at once, unless the command is a deleteRange or comes behind one. */
  pass(session: number, body: Uint8Array, submit: () => void): void {
    const op = opOf(body)
    const waiting = this.#waiting.size === 0 ? undefined : this.#waiting.get(session)
    if (waiting !== undefined && isWrite(op) && waiting.length < MOST_WAITING) {
      waiting.push(submit)
      return
    }
    const survey = op === OP.deleteRange && waiting === undefined ? this.#kv.survey(body) : undefined
    if (survey === undefined) return submit()
    this.#waiting.set(session, [submit])
    void survey.then(() => this.#go(session))
  }

  #go(session: number): void {
    const waiting = this.#waiting.get(session) ?? []
    this.#waiting.delete(session)
    for (const submit of waiting) submit()
  }
}

/** Of keys, values and sequences. */
const isWrite = (op: number | undefined): boolean =>
  op !== undefined && op >= OP.put && op <= OP.resetSequence
