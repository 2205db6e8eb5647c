// Types: the functions that the suite needs from the engine under test.

import type { EngineLocks } from '@latchkey/lock'
import type { Duration } from '@latchkey/protocol'

/** The function `test` of vitest, of node:test or of Jest, which registers one test. */
export type SuiteTest = (name: string, run: () => Promise<void>) => unknown

/**
 * The options with which the suite makes a client. `postgresLocks` and the other engines have options with
 * the same names.
 */
export interface SuiteOptions {
  readonly poll: Duration
  readonly patience: Duration
}

/** One client of the engine under test. */
export interface SuiteClient extends EngineLocks<'bytes' | 'string'> {
  /**
   * The suite needs this call if `fencing` is 'enforced'. The call makes a write. The engine refuses the
   * write with ERR_FENCED if the lock is not held with that token.
   */
  guardedWrite?(hold: { readonly key: string | Uint8Array; readonly token: number }): Promise<void>
  /**
   * The suite needs this call if `survives` is 'restart'. The call stops the server and starts the server
   * again with the same data.
   */
  restart?(): Promise<void>
  /**
   * The suite needs this call if `survives` is 'failover'. The call ends the server that leads, and another
   * server takes over.
   */
  failover?(): Promise<void>
}

/** Makes one more client of the same servers. */
export type SuiteFactory = (options: SuiteOptions) => Promise<SuiteClient>

export interface Scene {
  /** A key that no other test uses. */
  readonly key: string
  client(options?: Partial<SuiteOptions>): Promise<SuiteClient>
}

export type Register = (name: string, run: (scene: Scene) => Promise<void>) => void
