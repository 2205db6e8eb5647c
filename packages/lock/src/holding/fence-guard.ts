// Driver: owns the highest token seen for each resource outside the store (docs/locks.md, section 4).

import { LatchkeyError, toToken } from '@latchkey/protocol'

/**
 * Keeps the largest token of each resource, for example in a database or a file. Without a port, the guard
 * keeps these tokens in memory.
 */
export interface FencePort {
  get(resource: string): number | undefined | Promise<number | undefined>
  set(resource: string, token: number): void | Promise<void>
}

/**
 * Protects a resource outside of the store. The guard refuses a token that is lower than an earlier token.
 *
 * Law: for one resource, the get and set of one check never interleave with the get and set of another check.
 * Otherwise a lower token could overwrite a higher token.
 * ```ts
 * const guard = new FenceGuard({ get: (name) => db.token(name), set: (name, n) => db.setToken(name, n) })
 * await guard.check('printer', hold.token) // ERR_FENCED where a higher token was seen
 * ```
 */
export class FenceGuard {
  readonly #port: FencePort
  readonly #turns = new Map<string, Promise<void>>()

  constructor(port: FencePort = inMemory()) {
    if (typeof port?.get !== 'function' || typeof port.set !== 'function')
      throw new TypeError('port must have two methods: get(resource) and set(resource, token)')
    this.#port = port
  }

  /** Resolves if the token is accepted. Rejects with ERR_FENCED if the guard has seen a larger token. */
  async check(resource: string, token: number): Promise<void> {
    if (typeof resource !== 'string') throw new TypeError('resource must be a string')
    toToken(token, 'token')
    const before = this.#turns.get(resource) ?? Promise.resolve()
    const mine = before.then(() => this.#compare(resource, token))
    const turn = mine.catch(() => {})
    this.#turns.set(resource, turn)
    try {
      await mine
    } finally {
      if (this.#turns.get(resource) === turn) this.#turns.delete(resource)
    }
  }

  async #compare(resource: string, token: number): Promise<void> {
    const seen = (await this.#port.get(resource)) ?? 0
    if (token < seen) {
      throw new LatchkeyError(
        'ERR_FENCED',
        `${JSON.stringify(resource)} has seen token ${seen}; ${token} is of an older hold. Stop the work it guarded.`,
      )
    }
    if (token > seen) await this.#port.set(resource, token)
  }
}

function inMemory(): FencePort {
  const seen = new Map<string, number>()
  return {
    get: (resource) => seen.get(resource),
    set: (resource, token) => {
      seen.set(resource, token)
    },
  }
}
