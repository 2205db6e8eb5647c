// Driver: the port of the lock objects, on the engine.

import type { Clock } from '@latchkey/base'
import type { LockCall, LockCallOptions, LockPort } from '@latchkey/lock'
import {
  type As,
  type Command,
  type KeyValueCalls,
  type OwnerResult,
  type Read,
  encodeCommand,
} from '@latchkey/protocol'
import type { Call, CallOptions } from '../engine/call.js'
import type { Engine } from '../engine/engine.js'
import type { HoldGuard } from './key-values.js'

export interface LockPortOptions {
  readonly engine: Engine
  readonly clock: Clock
  readonly as: As | undefined
  readonly closed: AbortSignal
  readonly newId: () => string
  readonly guarded: (hold: HoldGuard) => KeyValueCalls
}

export function lockPort(options: LockPortOptions): LockPort {
  const { engine, clock, as, closed, newId, guarded } = options
  return {
    clock,
    bound: engine.bound,
    as,
    closed,
    newId,
    command: (command, limits) => lockCall(engine, command, limits),
    read: (read: Read, limits) => engine.read(read, false, limitsOf(limits), (result) => result),
    onGranted: (key, id, run) => whileWaiting(engine, key, id, run),
    onAttached: (run) => engine.grants.onAttached(run),
    guardedKv: (key, token, knownLost) => guarded({ key, token, knownLost }),
  }
}

const limitsOf = (limits: LockCallOptions | undefined): CallOptions => ({
  timeout: limits?.timeout,
  signal: limits?.signal,
})

function lockCall(engine: Engine, command: Command, limits: LockCallOptions | undefined): LockCall {
  let call: Call | undefined
  let settled: Promise<void> | undefined
  const result = new Promise<unknown>((resolve, reject) => {
    const payload = { what: 'command', body: encodeCommand(command) } as const
    call = engine.start(payload, limitsOf(limits), (given) => given, resolve, reject)
  })
  return {
    result,
    settled: () => {
      settled ??= engine.settled(call as Call)
      return settled
    },
  }
}

/** A ticket in a queue belongs to the session: it is kept alive as long as somebody waits. */
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
