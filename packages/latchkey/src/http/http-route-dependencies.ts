// Types: the functions and settings of the member that the HTTP routes need.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '@latchkey/base'
import type { Barriers, CallsAppliedOnce, Engine, KeptAt, Latches } from '@latchkey/client'
import type { LockPort, Semaphores } from '@latchkey/lock'
import type { As, ClusterCalls, KeyValueCalls, LatchkeyError } from '@latchkey/protocol'
import type { RequestTracer } from '../member/request-tracer.js'
import type { Identity } from '../member/identity-and-rights.js'
import type { UnfinishedMessagesLimit } from '../member/unfinished-messages-limit.js'
import type { Route } from './route-table.js'

/** The store checks the caller's rights in each call, so no route can forget the check. */
export interface CallerStore
  extends Pick<
    KeyValueCalls,
    | 'getEntry'
    | 'put'
    | 'delete'
    | 'txn'
    | 'batch'
    | 'increment'
    | 'touch'
    | 'multiGet'
    | 'scan'
    | 'watch'
    | 'getSequence'
    | 'getLatestSequence'
    | 'resetSequence'
  > {
  readonly status: ClusterCalls['status']
  readonly sessions: ClusterCalls['sessions']
  readonly transferLeadership: ClusterCalls['transferLeadership']
  readonly latches: Pick<Latches, 'create' | 'countDown' | 'wait' | 'remove'>
  readonly barriers: Pick<Barriers, 'enter'>
  readonly semaphores: Pick<Semaphores<As>, 'resize'>
  /** The same calls, of which each is applied only once. The cluster keeps the answer of the call. */
  appliedOnce(keptAt: KeptAt): CallsAppliedOnce<As>
  /** Acquires locks under ids that HTTP callers choose, and reads lists page by page. */
  readonly lockPort: LockPort
  /** Reads large results page by page. */
  readonly engine: Engine
}

export type RequestBodyBytes = Pick<UnfinishedMessagesLimit, 'received' | 'left'>

interface PageFile {
  readonly type: string
  readonly bytes: Uint8Array
  readonly gzip: Uint8Array
}

export interface HttpPorts {
  readonly clock: Clock
  actAs(who: Identity): CallerStore
  isReady(): boolean
  /** Why the member is not ready. Undefined means that only a leader is missing. */
  whyNotReady?(): string | undefined
  warning?(): string | undefined
  /** If no tokens are configured, every caller has all rights. */
  identify(token: string | undefined, socket: Socket): Identity | LatchkeyError
  /** The browser origins whose pages may call this port. No other page may call the port. */
  readonly origins: ReadonlySet<string>
  /** Returns a file of the web console. The name '' stands for the HTML page of the console. */
  pageFile?(name: string): PageFile | undefined
  /**
   * The allowed host names of the Host header, besides IP addresses and localhost. Undefined allows every
   * name.
   */
  readonly hosts: ReadonlySet<string> | undefined
  /**
   * The caller counts as a client until its call is answered. Returns false if the member has no room for one
   * more client.
   */
  admitClient(request: IncomingMessage): boolean
  readonly bodies: RequestBodyBytes
  /** Called after each write. The member counts the bytes that the caller has not read. */
  wrote(response: ServerResponse): void
  /**
   * Called when a call is refused before its route runs. `kind` is a label of a metric, so it must be a fixed
   * word.
   */
  refused(kind: string, reason: string): void
  readonly tracer?: RequestTracer | undefined
  metrics(): Promise<{ readonly type: string; readonly text: string }>
  /** Called when a bug has made a call fail. The caller gets status 500, and this function logs the error. */
  failed(error: unknown): void
  observe(route: string, status: number, millis: number): void
}

/** The answer of a route. */
export interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** An object is sent as JSON. */
  readonly body?: Uint8Array | string | object | undefined
  /** Replaces `body`. The next piece is taken when the caller has read most of the earlier pieces. */
  readonly stream?: Stream | undefined
}

export interface Stream {
  readonly pieces: AsyncIterator<string | Uint8Array>
  /**
   * True for a watch, which ends only when the caller disconnects. An endless answer gets heartbeats, and a
   * graceful stop does not wait for its end.
   */
  readonly isEndless: boolean
}

export interface Call {
  readonly by: CallerStore
  /** The caller's name, for logs and metrics. Empty if the route needs no token. */
  readonly caller: string
  /** Undefined if the route needs no token. */
  readonly who: Identity | undefined
  readonly route: Route
  readonly method: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly query: URLSearchParams
  /**
   * The query, still percent-encoded. Routes decode keys from this text, because a key may contain bytes that
   * are not UTF-8.
   */
  readonly rawQuery: string
  /** Aborts when the caller has disconnected. */
  readonly signal: AbortSignal
  /** Rejects with ERR_TOO_LARGE if the body has more than `most` bytes. */
  body(most: number): Promise<Uint8Array>
}
