// Types: the member that a sidecar runs. The function `open` returns this object.

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
  /** Returns the store that runs an HTTP caller's calls with that caller's rights. */
  actAs(who: Identity): Acting
  readonly connectionErrors: ConnectionErrors
  readonly refusals: RefusalLog
  readonly outboxes: Outboxes
  readonly unfinished: Unfinished
  readonly tracer?: RequestTracer | undefined
  /** The address at which the other members reach this member. The address comes from the member's log. */
  readonly address?: string | undefined
  isReady(): boolean
  whyNotReady?(): string | undefined
  warning?(): string | undefined
  /**
   * Returns the caller's identity by the caller's connection and token, or the error that says why the caller
   * has none.
   */
  identify(token: string | undefined, socket: Socket): Identity | LatchkeyError
  /** Takes over a WebSocket connection of a member or of a client. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, proven: Proven): void
  /**
   * Puts new certificates and tokens into use. If one of them is wrong, the function throws a TypeError and
   * changes nothing.
   */
  reload(given: ReloadOptions): void
  figures(): MemberFigures
  counters(status: Status): Metric[]
  /** Resolves to the reason when the member has stopped because of a failure. */
  readonly failed: Promise<Error>
}

export type OpenMember = (options: OpenOptions) => Promise<Member>
