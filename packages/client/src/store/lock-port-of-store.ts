// Driver: implements LockPort and PartyPort for a store. Through these interfaces, lock objects, latches and
// barriers send their requests.

import type { Clock } from '@latchkey/base'
import type { CallListener, LockCall, LockCallOptions, LockPort } from '@latchkey/lock'
import {
  type As,
  type Command,
  type Decoding,
  type KeyValueCalls,
  type OwnerResult,
  type Read,
  encodeCommand,
} from '@latchkey/protocol'
import type { Call, Convert } from '../engine/call.js'
import type { Engine } from '../engine/engine.js'
import type { HoldGuard } from './key-value-calls.js'
import { lockWatch } from './lock-watch.js'
import type { PartyPort } from './latch-and-barrier-wait.js'
import { WatchIterator } from './watch-iterator.js'

interface LockPortOptions {
  readonly engine: Engine
  readonly clock: Clock
  readonly decoding: Decoding
  readonly closed: AbortSignal
  readonly newId: () => string
  readonly guarded: (hold: HoldGuard) => KeyValueCalls<As>
}

export function lockPort(options: LockPortOptions): LockPort {
  const { engine, clock, decoding, closed, newId, guarded } = options
  return {
    clock,
    observer: engine.tracing,
    counts: engine.counts,
    bound: engine.bound,
    electionTimeout: () => engine.cluster?.electionTimeout ?? 0,
    noLeader: () => engine.noLeader(),
    decoding,
    closed,
    newId,
    command: (command, limits = NO_LIMITS, take, listener) =>
      new CommandCall(engine, command, limits, take, listener),
    read: (read: Read, limits = NO_LIMITS) => engine.read(read, false, limits, same),
    watchLocks: (options) => new WatchIterator(lockWatch(engine, options)),
    onGranted: (key, id, run) => whileWaiting(engine, key, id, run),
    onAttached: (run) => engine.grants.onAttached(run),
    guardedKv: (guard, knownLost) => guarded({ guard, knownLost }),
  }
}

interface PartyPortOptions {
  readonly engine: Engine
  readonly parties: Set<object>
}

export const partyPort = ({ engine, parties }: PartyPortOptions, port: LockPort): PartyPort => ({
  ...port,
  session: () => engine.session,
  onEnded: (id, run) => {
    const off = engine.grants.onEnded(id, run)
    const endUse = engine.use()
    return () => {
      off()
      endUse()
    }
  },
  parties,
})

const same = (result: unknown) => result
const NO_LIMITS: LockCallOptions = {}

class CommandCall<T> implements LockCall<T> {
  readonly result: Promise<T>
  readonly #engine: Engine
  #call: Call | undefined
  #final: Promise<void> | undefined

  constructor(
    engine: Engine,
    command: Command,
    limits: LockCallOptions,
    take: ((answer: unknown) => T | Promise<T>) | undefined,
    listener: CallListener | undefined,
  ) {
    this.#engine = engine
    this.result = new Promise((resolve, reject) => {
      const payload = { what: 'command', body: encodeCommand(command) } as const
      const failed = (error: unknown) => {
        listener?.callFailed(this, error)
        reject(error)
      }
      this.#call = engine.start(payload, limits, (take ?? same) as Convert<T>, resolve, failed)
    })
  }

  get sent(): boolean {
    return this.#call?.sentAt !== undefined
  }

  whenFinal(): Promise<void> {
    this.#final ??= this.#engine.whenFinal(this.#call as Call)
    return this.#final
  }
}

/**
 * Calls `run` for each pushed grant, and keeps the session alive, until the returned function is called.
 * Without the session, the caller would lose its place in the queue.
 */
function whileWaiting(
  engine: Engine,
  key: Uint8Array,
  id: string,
  run: (owner: OwnerResult) => void,
): () => void {
  const off = engine.grants.onGranted(key, id, run)
  const endUse = engine.use()
  return () => {
    off()
    endUse()
  }
}
