// Types: what the HTTP doors need of the member behind them.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '@latchkey/base'
import type { LockPort } from '@latchkey/lock'
import type { ClusterCalls, KeyValueCalls, LatchkeyError } from '@latchkey/protocol'
import type { Identity } from '../member/rights.js'
import type { Unfinished } from '../member/unfinished.js'

/** Whatever a call does it does by this, so that no door can forget to ask what its caller may. */
export interface Acting extends Pick<KeyValueCalls, 'getEntry' | 'put' | 'delete' | 'txn'> {
  readonly status: ClusterCalls['status']
  /** For locks under the caller's own id, as a program in another language holds them. */
  readonly lockPort: LockPort
}

/** Where what was read of bodies that are not whole is counted. */
export type Bodies = Pick<Unfinished, 'heard' | 'left'>

export interface HttpPorts {
  readonly clock: Clock
  /** The store of somebody who may not do everything, or of the member itself: it knows what that one may. */
  actAs(who: Identity): Acting
  /** Where ready() would resolve. */
  isReady(): boolean
  /** Where there is more to say than that it waits for a leader. */
  whyNotReady?(): string | undefined
  /** It is ready, and there is something to say all the same. */
  warning?(): string | undefined
  /** Who comes over that connection and shows that token; or why it is nobody. Without tokens at all everybody may do everything. */
  identify(token: string | undefined, socket: Socket): Identity | LatchkeyError
  /** Origins of browser pages that may call; none unless listed. */
  readonly origins: ReadonlySet<string>
  /** Names under which this port is called, beside addresses and localhost; undefined: any. */
  readonly hosts: ReadonlySet<string> | undefined
  /** Whose call is allowed has a place of a client until it is answered; false: there is none. */
  hasPlace(request: IncomingMessage): boolean
  /** What has been read of bodies that are not whole. */
  readonly bodies: Bodies
  /** An answer was written that its caller may not read soon. */
  wrote(response: ServerResponse): void
  /** A call was refused at the door; `kind` is one of few. */
  refused(kind: string, reason: string): void
  metrics(): Promise<{ readonly type: string; readonly text: string }>
  /** A call failed by a mistake of ours: it is answered with 500, and somebody has to see why. */
  failed(error: unknown): void
  /** One call was answered. */
  observe(route: string, status: number, millis: number): void
}

/** What a handler gives back. */
export interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** An object goes out as JSON. */
  readonly body?: Uint8Array | string | object | undefined
}

/** A request whose way in has been checked. */
export interface Call {
  /** What its caller may do is done by this. */
  readonly by: Acting
  readonly method: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly query: URLSearchParams
  /** Aborted when the caller is gone. */
  readonly signal: AbortSignal
  /** The whole body; ERR_TOO_LARGE beyond `most` bytes. */
  body(most: number): Promise<Uint8Array>
}
