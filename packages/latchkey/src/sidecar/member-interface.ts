// Types: the member that a sidecar runs.

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
import type { CallerStore } from '../http/index.js'
import type { Proven } from '../open/connection-limits-of-port.js'
import type { UnreadBytesLimit } from '../member/unread-bytes-limit.js'
import type { UnfinishedMessagesLimit } from '../member/unfinished-messages-limit.js'
import type { RequestTracer } from '../member/request-tracer.js'
import type { Identity } from '../member/identity-and-rights.js'
import type { OpenOptions } from '../open/options.js'
import type { ReloadOptions } from '../open/check-reloaded-certificates-and-tokens.js'

export interface Member {
  readonly store: KeyValueCalls & Pick<ClusterCalls, 'status' | 'transferLeadership' | 'close'>
  actAs(who: Identity): CallerStore
  readonly connectionErrors: ConnectionErrors
  readonly refusals: RefusalLog
  readonly unreadBytes: UnreadBytesLimit
  readonly unfinished: UnfinishedMessagesLimit
  readonly tracer?: RequestTracer | undefined
  /** The address of this member in the Raft log, to which other members connect. */
  readonly address?: string | undefined
  isReady(): boolean
  whyNotReady?(): string | undefined
  warning?(): string | undefined
  identify(token: string | undefined, socket: Socket): Identity | LatchkeyError
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, proven: Proven): void
  /**
   * If a certificate or token is wrong, the function throws a TypeError, and the old certificates and tokens
   * stay in use.
   */
  reload(given: ReloadOptions): void
  figures(): MemberFigures
  counters(status: Status): Metric[]
  readonly failed: Promise<Error>
}

export type OpenMember = (options: OpenOptions) => Promise<Member>
