// Driver: the lock engine in memory. Each engine is a client of a LockMemory.

import { utf8 } from '@latchkey/base'
import {
  type Capabilities,
  ENGINE_OPTIONS,
  type EngineLocks,
  engineLocks,
  type EngineOptions,
  type LockEngine,
} from '@latchkey/lock'
import { fenced, knownNames, lockKeyOf, KIND, refuseUnknown } from '@latchkey/protocol'
import { isIn, LockMemory } from './locks-in-memory.js'

const CAPABILITIES: Capabilities = {
  fencing: 'enforced',
  queue: 'fair',
  wakeUp: 'push',
  survives: 'nothing',
  time: 'client',
}
const OPTIONS = knownNames(...ENGINE_OPTIONS, 'memory')

export interface MemoryOptions<S extends 'bytes' | 'string' = 'bytes'> extends EngineOptions<S> {
  /** The memory that this engine shares with other clients in this process. Default: a new memory. */
  memory?: LockMemory | undefined
}

export interface MemoryLocks<S extends 'bytes' | 'string' = 'bytes'> extends EngineLocks<S> {
  /**
   * Throws ERR_FENCED if the lock is not held with that token at this moment. Make your write directly after
   * this call, without an `await` between the two. Then no other code runs between the check and your write.
   */
  guard(hold: { readonly key: string | Uint8Array; readonly token: number }): void
}

/** Returns locks in the memory of this process, for tests and for programs of a single process. */
export function memoryLocks<S extends 'bytes' | 'string' = 'bytes'>(
  options: MemoryOptions<S> = {},
): MemoryLocks<S> {
  refuseUnknown(options, OPTIONS, 'option', 'memoryLocks')
  const { memory = new LockMemory(), ...rest } = options
  if (!(memory instanceof LockMemory)) throw new TypeError('memory must be a LockMemory')
  return {
    ...engineLocks<S>(memoryEngine(memory), rest),
    guard: ({ key, token }) => {
      const name = lockKeyOf(KIND.lock, typeof key === 'string' ? utf8(key) : key)
      if (!memory.isHeldWith(name, token)) throw fenced({ key: name, token })
    },
  }
}

/** Each method does its whole work in one turn of the event loop, so no other code sees half of a change. */
export const memoryEngine = (memory: LockMemory): LockEngine => ({
  capabilities: CAPABILITIES,
  take: async (request) => memory.take(request),
  renew: async (list) => ({
    now: memory.now,
    holds: list.map(({ key, id, lease }) => memory.renew(key, id, lease)),
  }),
  release: async (key, id, all) => memory.release(key, id, all),
  cancel: async (tickets) => ({
    now: memory.now,
    tokens: tickets.map(({ key, id }) => memory.cancel(key, id)),
  }),
  rotate: async (key, id) => ({ now: memory.now, hold: memory.rotate(key, id) }),
  forceRelease: async (key, token) => ({ now: memory.now, ended: memory.forceRelease(key, token) }),
  query: async ({ prefix, isKey, queue }) => ({
    now: memory.now,
    rows: memory.query(isIn(prefix, isKey), queue),
  }),
  time: async () => ({ now: memory.now }),
  listen: (wake) => memory.listen(wake),
  close: async () => {},
})
