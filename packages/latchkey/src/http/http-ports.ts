// Types: what the HTTP routes need from the member.

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

/** Every route acts through this interface, so that no route can forget to check the caller's rights. */
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
  /** Locks under an id that the caller chooses, as a program in another language holds them. */
  readonly lockPort: LockPort
  /** Reads in pieces. */
  readonly engine: Engine
}

/** Counts the bytes of bodies that have been read in part. */
export type Bodies = Pick<Unfinished, 'heard' | 'left'>

export interface PageFile {
  readonly type: string
  readonly bytes: Uint8Array
  /** The same, compressed. */
  readonly gzip: Uint8Array
}

export interface HttpPorts {
  readonly clock: Clock
  /** The store of a caller with limited rights, or of the member itself: the store checks those rights. */
  actAs(who: Identity): Acting
  /** True when ready() would resolve. */
  isReady(): boolean
  /** The reason why the member is not ready, if it is not only that there is no leader. */
  whyNotReady?(): string | undefined
  /** The member is ready, and reports this all the same. */
  warning?(): string | undefined
  /**
   * The identity of a caller by its connection and token, or why it has none. If no tokens are configured
   * every caller may do everything.
   */
  identify(token: string | undefined, socket: Socket): Identity | LatchkeyError
  /** Origins of browser pages that may call; none unless listed. */
  readonly origins: ReadonlySet<string>
  /** A file of the page for people; '': the page itself. undefined: there is none of that name. */
  pageFile?(name: string): PageFile | undefined
  /** Host names under which this port may be called, besides addresses and localhost; undefined: any. */
  readonly hosts: ReadonlySet<string> | undefined
  /** Takes one of the member's places for clients until the call is answered; false: none is free. */
  hasPlace(request: IncomingMessage): boolean
  /** Bodies that have been read in part. */
  readonly bodies: Bodies
  /** An answer was written that the caller may not read soon. */
  wrote(response: ServerResponse): void
  /** A call was refused before it was run; `kind` is one of few. */
  refused(kind: string, reason: string): void
  /** Left out: traces are not followed. */
  readonly tracer?: RequestTracer | undefined
  metrics(): Promise<{ readonly type: string; readonly text: string }>
  /** A call failed because of a bug: it is answered with 500, and the error must be logged. */
  failed(error: unknown): void
  /** One call was answered. */
  observe(route: string, status: number, millis: number): void
}

/** What a route returns. */
export interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** An object is sent as JSON. */
  readonly body?: Uint8Array | string | object | undefined
  /** In place of `body`: pieces, each requested when the caller has read enough of the ones before. */
  readonly stream?: Stream | undefined
}

export interface Stream {
  readonly pieces: AsyncIterator<string | Uint8Array>
  /** The answer may take as long as the caller stays: it is kept alive, and a stop does not wait for it. */
  readonly isEndless: boolean
}

/** A request whose path, rights and headers have been checked. */
export interface Call {
  /** Acts with the caller's rights. */
  readonly by: Acting
  /** The name of the caller in logs and counts. */
  readonly caller: string
  /** undefined: the route needs no token. */
  readonly who: Identity | undefined
  readonly route: Route
  readonly method: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly query: URLSearchParams
  /** The query as it came: a key in it may be no text. */
  readonly rawQuery: string
  /** Aborted when the caller has disconnected. */
  readonly signal: AbortSignal
  /** The whole body; ERR_TOO_LARGE beyond `most` bytes. */
  body(most: number): Promise<Uint8Array>
}
