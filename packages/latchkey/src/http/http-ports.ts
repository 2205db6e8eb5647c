// Types: the functions and settings of the member that the HTTP routes need.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '@latchkey/base'
import type { Barriers, Engine, Latches } from '@latchkey/client'
import type { LockPort, Semaphores } from '@latchkey/lock'
import type { As, ClusterCalls, KeyValueCalls, LatchkeyError } from '@latchkey/protocol'
import type { RequestTracer } from '../member/request-tracer.js'
import type { Identity } from '../member/rights.js'
import type { Unfinished } from '../member/unfinished-messages-limit.js'
import type { Route } from './route-table.js'

/**
 * Every route calls the store through this interface. The interface checks the caller's rights, so no route
 * can forget the check.
 */
export interface Acting
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
  /**
   * Acquires locks under an id that the caller chooses. A program in another language holds its locks in this
   * way.
   */
  readonly lockPort: LockPort
  /** Reads large results in pieces. */
  readonly engine: Engine
}

/** Counts the bytes of request bodies that have arrived only in part. */
export type Bodies = Pick<Unfinished, 'heard' | 'left'>

export interface PageFile {
  readonly type: string
  readonly bytes: Uint8Array
  /** The same file, compressed. */
  readonly gzip: Uint8Array
}

export interface HttpPorts {
  readonly clock: Clock
  /** Returns the store that acts with the caller's rights. The store checks these rights. */
  actAs(who: Identity): Acting
  /** True if ready() would resolve at once. */
  isReady(): boolean
  /** Why the member is not ready. Undefined if the only reason is that the cluster has no leader. */
  whyNotReady?(): string | undefined
  /** A warning that a ready member reports at /readyz. */
  warning?(): string | undefined
  /**
   * Returns the caller's identity by its connection and its token, or the error that says why the caller has
   * none. If no tokens are configured, every caller may do everything.
   */
  identify(token: string | undefined, socket: Socket): Identity | LatchkeyError
  /** The browser origins whose pages may call this port. No other page may call it. */
  readonly origins: ReadonlySet<string>
  /**
   * Returns a file of the member's web page. The name '' stands for the page itself. Undefined: no file has
   * this name.
   */
  pageFile?(name: string): PageFile | undefined
  /**
   * The host names under which callers may address this port, besides IP addresses and localhost. Undefined:
   * any host name.
   */
  readonly hosts: ReadonlySet<string> | undefined
  /**
   * Counts the caller among the member's clients until the call is answered. Returns false if the limit is
   * reached.
   */
  hasPlace(request: IncomingMessage): boolean
  /** The request bodies that have arrived only in part. */
  readonly bodies: Bodies
  /** An answer was written, and the caller may read it slowly. */
  wrote(response: ServerResponse): void
  /**
   * A call was refused before it ran. `kind` is one of a few fixed words, so that it can be a label of a
   * metric.
   */
  refused(kind: string, reason: string): void
  /** If it is left out, requests are not traced. */
  readonly tracer?: RequestTracer | undefined
  metrics(): Promise<{ readonly type: string; readonly text: string }>
  /** A call failed because of a bug. The caller gets status 500, and this function must log the error. */
  failed(error: unknown): void
  /** A call was answered after `millis`. The metrics count it. */
  observe(route: string, status: number, millis: number): void
}

/** The answer of a route. */
export interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** The body of the answer. An object is sent as JSON. */
  readonly body?: Uint8Array | string | object | undefined
  /**
   * An answer in pieces, in place of `body`. Each piece is requested when the caller has read enough of the
   * pieces before.
   */
  readonly stream?: Stream | undefined
}

export interface Stream {
  readonly pieces: AsyncIterator<string | Uint8Array>
  /**
   * True if the answer ends only when the caller disconnects. The server then sends heartbeats, and a stop
   * does not wait for the answer's end.
   */
  readonly isEndless: boolean
}

/** A request after the checks of its path, its rights and its headers. */
export interface Call {
  /** The store that acts with the caller's rights. */
  readonly by: Acting
  /** The name of the caller in logs and metrics. */
  readonly caller: string
  /** The caller's identity. Undefined if the route needs no token. */
  readonly who: Identity | undefined
  readonly route: Route
  readonly method: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly query: URLSearchParams
  /** The query string exactly as it arrived. A key in the query may be bytes that are not UTF-8. */
  readonly rawQuery: string
  /** Aborts when the caller has disconnected. */
  readonly signal: AbortSignal
  /** Resolves to the whole body, or rejects with ERR_TOO_LARGE if the body has more than `most` bytes. */
  body(most: number): Promise<Uint8Array>
}
