// Types: everything outside of this process that a command may use: its streams, environment and signals, and
// the store to which it connects.

import type { ChildProcess } from 'node:child_process'
import type { Clock, Logger } from '@latchkey/base'
import type { EventCalls, MemberConnection } from '@latchkey/client'
import type {
  As,
  Acquirer,
  Bytes,
  CallOptions,
  ClusterCalls,
  Duration,
  KeyValueCalls,
  LockHistory,
  LockHistoryOptions,
  LockInfo,
  LockMode,
  LockListOptions,
  ListOptions,
  LatchInfo,
  BarrierInfo,
  Owner,
} from '@latchkey/protocol'

export interface Hold {
  readonly token: number
  /** Aborts when the holder can no longer be certain of the hold. */
  readonly signal: AbortSignal
  /** The cluster refuses a write by these calls if the hold is no longer in force. */
  readonly kv: Pick<KeyValueCalls, 'put'>
  release(options?: CallOptions): Promise<void>
}
export interface AcquireOptions {
  lease?: Duration | undefined
  wait?: Duration | undefined
  signal?: AbortSignal | undefined
  context?: string | undefined
  mode?: LockMode | undefined
}
type PermitOptions = Omit<AcquireOptions, 'mode'> & { of: number; permits?: number | undefined }
interface Semaphores {
  acquire(name: string, options: PermitOptions): Promise<Hold>
  tryAcquire(name: string, options: PermitOptions): Promise<Hold | undefined>
}
interface Elections {
  campaign(
    name: string,
    options?: Pick<AcquireOptions, 'lease' | 'wait' | 'signal'> & { value?: string | undefined },
  ): Promise<Hold>
  leader(name: string): Promise<{ value: Uint8Array | undefined } | undefined>
}
interface Locks {
  acquire(key: string, options?: AcquireOptions): Promise<Hold>
  tryAcquire(key: string, options?: AcquireOptions): Promise<Hold | undefined>
  query<A extends As = 'bytes'>(prefix?: Bytes, options?: LockListOptions<A>): Promise<LockInfo<A>[]>
  history(key: Bytes, options?: LockHistoryOptions): Promise<LockHistory>
  forceRelease(key: Bytes, token: number, options?: CallOptions): Promise<boolean>
}
interface Listed<Info> {
  query(prefix?: Bytes, options?: ListOptions<'bytes'>): Promise<Info[]>
}
interface LockCalls {
  tryLockWith(
    key: Bytes,
    fencingKey: Bytes | null | undefined,
    keepLease: boolean,
    acquirer: Acquirer,
  ): Promise<Owner>
  releaseLockWith(key: Bytes, acquirer: Acquirer): Promise<Owner>
}
export type CommandStore = KeyValueCalls &
  ClusterCalls &
  LockCalls &
  Pick<EventCalls, 'on' | 'off'> & {
    readonly locks: Locks
    readonly semaphores: Semaphores
    readonly elections: Elections
    readonly latches: Listed<LatchInfo>
    readonly barriers: Listed<BarrierInfo>
  }

export interface ConnectOptions {
  token?: string | undefined
  cluster?: string | undefined
  clusterId?: string | undefined
  logger?: Logger | undefined
  timeout?: Duration | undefined
  signal?: AbortSignal | undefined
  tls?: { ca?: string | undefined; cert?: string | undefined; key?: string | undefined } | undefined
}

export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  /** The host name and the process id, so that people can find the holder of a lock. */
  readonly processName: string
  readonly isTerminal: boolean
  /** False if standard output is no terminal with colours, or the user has turned colours off. */
  readonly colours: boolean
  /** True if standard error is a terminal, on which a line can be overwritten. */
  readonly errIsTerminal: boolean
  out(bytes: string | Uint8Array): void
  err(text: string): void
  stdin(): Promise<Uint8Array>
  readFile(path: string): string
  /**
   * Aborts at SIGINT, at SIGTERM, and when no program reads the standard output any more (SIGPIPE). The
   * reason is an `Interrupted`.
   */
  readonly interrupted: AbortSignal
  /** After this call, each SIGHUP calls `run` and no longer ends this process. */
  onHangUp(run: () => void): void
  takeSignals(run: (signal: NodeJS.Signals) => void, signals: readonly NodeJS.Signals[]): () => void
  connect(endpoints: readonly string[], options: ConnectOptions): Promise<CommandStore>
  /** Unlike a store, this connection never moves to another member. */
  connectToMember(url: string, options: ConnectOptions): Promise<MemberConnection>
  /**
   * Starts a child process with the standard streams of this process. With 'quiet', the child has only
   * standard error.
   */
  spawn(command: string, args: readonly string[], env: NodeJS.ProcessEnv, streams?: 'quiet'): ChildProcess
}

export class Interrupted extends Error {
  override readonly name = 'Interrupted'
  readonly signal: NodeJS.Signals

  constructor(signal: NodeJS.Signals) {
    super(`interrupted by ${signal}`)
    this.signal = signal
  }
}
