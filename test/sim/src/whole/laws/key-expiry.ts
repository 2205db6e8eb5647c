// Rule: laws of keys with a ttl or a session. The expected life of each key follows from the commands in the
// log. The code shares nothing with the checked code. After each part of the log, the law looks at the keys
// of one member.
//
// Laws
// - Never early: a key exists until cluster time has passed its ttl, or until its session has ended.
// - In time: one second of cluster time later, the key does not exist.
// - The last put decides: after a put without a ttl, the key exists until a caller deletes it.

import { binary, utf8 } from '@latchkey/base'
import { BatchReader } from '@latchkey/kv'
import {
  type Command,
  decodeCommand,
  isBadCommand,
  LIFE_OF_SESSION,
  OP,
  STEP,
  unpack,
} from '@latchkey/protocol'
import type { Entry } from '@latchkey/raft/core'
import type { Applied } from '@latchkey/raft/node'
import { LawBroken } from '../../laws/verdict.js'

export const EXPIRY_PREFIX = 'life/'
/** In ms of cluster time. The cluster may delete a key this late. */
const LATE = 1_000

type Life = { readonly due: number } | { readonly session: number; overSince?: number } | 'for ever'

export interface SeenKeys {
  isThere(key: Uint8Array): boolean
  isOpen(session: number): boolean
}

export class KeyExpiry {
  readonly #keys = new Map<string, Life>()
  #index = 0
  #time = 0
  gone = 0

  /** Called when the first member applies an entry. */
  applied({ index, time, data, kind }: Entry, { answers }: Applied): void {
    this.#index = index
    this.#time = time
    if (kind !== 'commands' || answers === undefined) return
    const reader = new BatchReader(data)
    for (const answer of answers) {
      if (!reader.next()) return
      // A stored answer: the command was not executed again.
      if (answer.fromTable) continue
      const [code, result] = unpack(answer.bytes) as [number, unknown]
      const command = decodeCommand(reader.body)
      if (code === 0 && !isBadCommand(command)) this.#done(command, reader.session, result)
    }
  }

  #done(command: Command, session: number, result: unknown): void {
    switch (command[0]) {
      case OP.put:
        return this.#put(command[2], command[4], session)
      case OP.putAll:
        for (const [key, , life] of command[2]) this.#put(key, life, session)
        return
      case OP.batch:
        for (const step of command[2]) if (step[0] === STEP.put) this.#put(step[1], step[3], session)
        return
      case OP.deleteAll:
        for (const key of command[2]) this.#keys.delete(binary(key))
        return
      case OP.touch: {
        if (result === true) return this.#put(command[2], command[3], session)
        return this.#gone(binary(command[2]), 'a touch did not find it')
      }
      default:
    }
  }

  #put(bytes: Uint8Array, life: number | undefined, session: number): void {
    const key = binary(bytes)
    if (!key.startsWith(EXPIRY_PREFIX)) return
    if (life === undefined) this.#keys.set(key, 'for ever')
    else this.#keys.set(key, life === LIFE_OF_SESSION ? { session } : { due: this.#time + life })
  }

  /** `seen` has the keys of a member whose last applied entry is `index`. */
  look(index: number, seen: SeenKeys): void {
    if (index !== this.#index) return
    for (const [key, life] of this.#keys) {
      if (typeof life !== 'string' && 'session' in life && !seen.isOpen(life.session))
        life.overSince ??= this.#time
      if (!seen.isThere(utf8(key))) this.#gone(key, 'it is not there')
      else if (this.#time > overAt(life) + LATE)
        throw new LawBroken(
          'keys go in time',
          `${key} is there at ${this.#time}, its life was over at ${overAt(life)}`,
        )
    }
  }

  #gone(key: string, how: string): void {
    const life = this.#keys.get(key)
    if (life === undefined) return
    if (
      this.#time <= overAt(life) &&
      !(typeof life !== 'string' && 'session' in life && life.overSince !== undefined)
    )
      throw new LawBroken(
        'no key goes early',
        `${key} at ${this.#time}: ${how}; its life: ${JSON.stringify(life)}`,
      )
    this.#keys.delete(key)
    this.gone++
  }
}

/** Returns the known end of the key's life, in cluster time. */
function overAt(life: Life): number {
  if (life === 'for ever') return Number.POSITIVE_INFINITY
  return 'due' in life ? life.due : (life.overSince ?? Number.POSITIVE_INFINITY)
}
