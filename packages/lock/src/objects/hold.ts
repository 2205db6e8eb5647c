// Driver: one hold, as a Node developer holds it: a thing with a signal, a token and an end.

import { LatchkeyError, type KeyValueCalls } from '@latchkey/protocol'
import type { Holder } from './holder.js'
import type { LockPort } from './port.js'
import type { Tenure } from './tenure.js'

export class Hold implements AsyncDisposable {
  readonly key: string | Uint8Array
  readonly token: number
  /** Aborts with ERR_LOCK_LOST at the latest when the hold can no longer be promised; a release leaves it alone. */
  readonly signal: AbortSignal
  readonly #port: LockPort
  readonly #holder: Holder
  readonly #tenure: Tenure
  #release: Promise<LatchkeyError | undefined> | undefined
  #kv: KeyValueCalls | undefined

  constructor(port: LockPort, holder: Holder, tenure: Tenure, key: string | Uint8Array) {
    this.#port = port
    this.#holder = holder
    this.#tenure = tenure
    this.key = key
    this.token = tenure.token
    this.signal = tenure.signal
  }

  get held(): boolean {
    return this.#tenure.held
  }

  remainingMillis(): number {
    return this.#tenure.remaining()
  }

  /** Throws unless it is held, judged now. */
  assertHeld(): void {
    if (this.#tenure.held) return
    if (!this.#tenure.lost)
      throw new LatchkeyError('ERR_NOT_OWNER', 'This hold was released. Acquire the lock again.')
    throw new LatchkeyError('ERR_LOCK_LOST', undefined, { cause: this.signal.reason })
  }

  /** Idempotent; resolves for a lost hold too. */
  async release(): Promise<void> {
    await this.end()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end()
  }

  /** A Store's KV calls; every write carries the guard of this hold. */
  get kv(): KeyValueCalls {
    this.#kv ??= this.#port.guardedKv(this.#tenure.key, this.token, () => !this.held)
    return this.#kv
  }

  /** For withLock: the loss that the release met, if any. */
  end(): Promise<LatchkeyError | undefined> {
    this.#release ??= this.#holder.leaveAll()
    return this.#release
  }
}
