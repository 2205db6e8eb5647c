// Types: what the suite of lock engines needs from the engine under test.

import type { EngineLocks } from '@latchkey/lock'
import type { Duration } from '@latchkey/protocol'

/** `test` of vitest, of node:test, of Jest: registers one test. */
export type SuiteTest = (name: string, run: () => Promise<void>) => unknown

/** The options with which a client under test is made. `postgresLocks` and the others take these names. */
export interface SuiteOptions {
  readonly poll: Duration
  readonly patience: Duration
}

/** One client of the engine under test. */
export interface SuiteClient extends EngineLocks<'bytes' | 'string'> {
  /**
   * Needed with fencing 'enforced': a write that the engine refuses with ERR_FENCED unless the lock is held
   * with that token.
   */
  guardedWrite?(hold: { readonly key: string | Uint8Array; readonly token: number }): Promise<void>
  /** Needed with survives 'restart': stops the server, and starts it again with what it had. */
  restart?(): Promise<void>
  /** Needed with survives 'failover': ends the server that leads, and lets another take over. */
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
