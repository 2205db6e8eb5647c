// Types: the member that a sidecar runs, as `open` returns it.

import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { ConnectionErrors, RefusalLog } from '@latchkey/base'
import type {
  ClusterCalls,
  KeyValueCalls,
  LatchkeyError,
  MemberFigures,
  Metric,
  Status,
} from '@latchkey/protocol'
import type { Acting } from '../http/index.js'
import type { Proven } from '../open/connections-of-port.js'
import type { Outboxes } from '../member/unread-bytes-limit.js'
import type { Unfinished } from '../member/unfinished-messages-limit.js'
import type { RequestTracer } from '../member/request-tracer.js'
import type { Identity } from '../member/rights.js'
import type { OpenOptions } from '../open/options.js'
import type { ReloadOptions } from '../open/reload.js'

export interface Member {
  readonly store: KeyValueCalls & Pick<ClusterCalls, 'status' | 'transferLeadership' | 'close'>
  /** The store of an HTTP caller, with that caller's rights. */
  actAs(who: Identity): Acting
  readonly connectionErrors: ConnectionErrors
  readonly refusals: RefusalLog
  readonly outboxes: Outboxes
  readonly unfinished: Unfinished
  readonly tracer?: RequestTracer | undefined
  /** The address in its log at which the other members reach it. */
  readonly address?: string | undefined
  isReady(): boolean
  whyNotReady?(): string | undefined
  warning?(): string | undefined
  /** Returns the identity of a caller by its connection and token, or why it has none. */
  identify(token: string | undefined, socket: Socket): Identity | LatchkeyError
  /** Handles a WebSocket of a member or of a client. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, proven: Proven): void
  /**
   * Puts new certificates and tokens into use. Throws a TypeError if one is wrong, and then
   * nothing has changed.
   */
  reload(given: ReloadOptions): void
  figures(): MemberFigures
  counters(status: Status): Metric[]
  /** Settles when the member has stopped by itself, with the reason. */
  readonly failed: Promise<Error>
}

export type OpenMember = (options: OpenOptions) => Promise<Member>
