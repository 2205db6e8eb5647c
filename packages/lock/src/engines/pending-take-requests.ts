// Driver: owns the take requests of one client that the engine may still apply, by lock and caller id.

import { addByKey, binary, deleteByKey } from '@latchkey/base'
import type { EngineCall } from './engine-requests.js'

/**
 * Law: the client gives back a caller's hold or place in the queue only after the engine can no longer apply
 * any take request of the caller. Without this law: the first attempt of a take is delayed, the second
 * attempt is answered, and the caller leaves. Then the first attempt arrives, and the lock has a holder that
 * no caller knows.
 */
export class PendingTakes {
  readonly #open = new Map<string, Set<Promise<void>>>()

  track(key: Uint8Array, id: string, call: EngineCall<unknown>): void {
    const name = nameOf(key, id)
    const final: Promise<void> = call.result
      .then(ignore, ignore)
      .then(() => call.whenFinal())
      .catch(ignore)
      .then(() => deleteByKey(this.#open, name, final))
    addByKey(this.#open, name, final)
  }

  has(key: Uint8Array, id: string): boolean {
    return this.#open.has(nameOf(key, id))
  }

  async whenFinal(key: Uint8Array, id: string): Promise<void> {
    await Promise.all([...(this.#open.get(nameOf(key, id)) ?? [])])
  }
}

const ignore = (): void => {}
const nameOf = (key: Uint8Array, id: string): string => `${id}/${binary(key)}`
