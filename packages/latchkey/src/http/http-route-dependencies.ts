// Types: the functions and settings of the member that the HTTP routes need.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '@latchkey/base'
import type { Barriers, Engine, Latches } from '@latchkey/client'
import type { LockPort, Semaphores } from '@latchkey/lock'
import type { As, ClusterCalls, KeyValueCalls, LatchkeyError } from '@latchkey/protocol'
import type { RequestTracer } from '../member/request-tracer.js'
import type { Identity } from '../member/identity-and-rights.js'
import type { UnfinishedMessagesLimit } from '../member/unfinished-messages-limit.js'
import type { Route } from './route-table.js'

/**
 * The calls of the store that routes use. The store checks the caller's rights in each call, so no route can
 * forget the check.
 */
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
  readonly latches: Pick<Latches, 'create' | 'countDown' | 'wait' | 'remove' | 'query'>
  readonly barriers: Pick<Barriers, 'enter' | 'query'>
  readonly semaphores: Pick<Semaphores<As>, 'resize'>
  /** Acquires locks under an id that the HTTP caller chooses, such as an id of its process. */
  readonly lockPort: LockPort
  /** The routes read large results page by page through this object. */
  readonly engine: Engine
}

/** Counts the bytes of request bodies of which only a part has arrived. */
export type RequestBodyBytes = Pick<UnfinishedMessagesLimit, 'received' | 'left'>

interface PageFile {
  readonly type: string
  readonly bytes: Uint8Array
  readonly gzip: Uint8Array
}

export interface HttpPorts {
  readonly clock: Clock
  /** Returns the store that acts with the caller's rights. The store checks these rights. */
  actAs(who: Identity): CallerStore
  /** Returns true if a call of ready() would resolve at once. */
  isReady(): boolean
  /** Returns why the member is not ready. Undefined means that only a leader is missing. */
  whyNotReady?(): string | undefined
  warning?(): string | undefined
  /**
   * Returns the caller's identity by the certificate of the socket and the token, or the error for the
   * caller. If no tokens are configured, every caller has all rights.
   */
  identify(token: string | undefined, socket: Socket): Identity | LatchkeyError
  /** The browser origins whose pages may call this port. No other page may call it. */
  readonly origins: ReadonlySet<string>
  /**
   * Returns a file of the member's web console, or undefined if no such file exists. The name '' stands for
   * the page itself.
   */
  pageFile?(name: string): PageFile | undefined
  /**
   * The host names that the Host header may have, besides IP addresses and localhost. Undefined means any
   * host name.
   */
  readonly hosts: ReadonlySet<string> | undefined
  /**
   * Counts the caller among the member's clients until the call is answered. Returns false if the member has
   * no room for one more client.
   */
  admitClient(request: IncomingMessage): boolean
  readonly bodies: RequestBodyBytes
  /**
   * Called when an answer was written to the socket. The member counts the bytes that the caller has not
   * read.
   */
  wrote(response: ServerResponse): void
  /**
   * Called when a call was refused before its route ran. `kind` is a label of a metric, so it must be a fixed
   * word.
   */
  refused(kind: string, reason: string): void
  /** Traces requests. Undefined means that requests are not traced. */
  readonly tracer?: RequestTracer | undefined
  metrics(): Promise<{ readonly type: string; readonly text: string }>
  /**
   * Called when a call has failed because of a bug. The caller gets status 500, and this function logs the
   * error.
   */
  failed(error: unknown): void
  /** Called when a call was answered. The metrics count the call and its duration in ms. */
  observe(route: string, status: number, millis: number): void
}

/** The answer of a route. */
export interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** An object is sent as JSON. */
  readonly body?: Uint8Array | string | object | undefined
  /**
   * The body in pieces, in place of `body`. The server takes the next piece when the caller has read most of
   * the earlier pieces.
   */
  readonly stream?: Stream | undefined
}

export interface Stream {
  readonly pieces: AsyncIterator<string | Uint8Array>
  /**
   * True if the answer ends only when the caller disconnects, as the answer of a watch does. The server then
   * sends heartbeats, and a graceful stop does not wait for the end of the answer.
   */
  readonly isEndless: boolean
}

/** A request after the server has checked its path, headers and rights. */
export interface Call {
  /** The store that acts with the caller's rights. */
  readonly by: CallerStore
  /** The name of the caller in logs and metrics. Empty if the route needs no token. */
  readonly caller: string
  /** The caller's identity. Undefined if the route needs no token. */
  readonly who: Identity | undefined
  readonly route: Route
  readonly method: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly query: URLSearchParams
  /**
   * The query string as it arrived, still percent-encoded. Routes decode keys from this text, because a key
   * may contain bytes that are not UTF-8.
   */
  readonly rawQuery: string
  /** Aborts when the caller has disconnected. */
  readonly signal: AbortSignal
  /** Resolves to the whole body. Rejects with ERR_TOO_LARGE if the body has more than `most` bytes. */
  body(most: number): Promise<Uint8Array>
}
