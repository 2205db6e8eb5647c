// Types: the member that a sidecar runs, as the composition opens it.

import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { ConnectionErrors, RefusalLog } from '@latchkey/base'
import type { LockPort } from '@latchkey/lock'
import type { ClusterCalls, KeyValueCalls, LatchkeyError } from '@latchkey/protocol'
import type { Proven } from '../open/connections.js'
import type { Outboxes } from '../member/outboxes.js'
import type { Unfinished } from '../member/unfinished.js'
import type { Identity } from '../member/rights.js'
import type { OpenOptions } from '../open/options.js'
import type { ReloadOptions } from '../open/reload.js'

export interface Member {
  readonly store: KeyValueCalls & Pick<ClusterCalls, 'status' | 'transferLeadership' | 'close'>
  /** The store of a caller of HTTP: it may do what that one may. */
  actAs(who: Identity): KeyValueCalls & Pick<ClusterCalls, 'status'> & { readonly lockPort: LockPort }
  readonly connectionErrors: ConnectionErrors
  readonly refusals: RefusalLog
  readonly outboxes: Outboxes
  readonly unfinished: Unfinished
  /** Where the others look for it, as its log has it. */
  readonly address?: string | undefined
  isReady(): boolean
  whyNotReady?(): string | undefined
  warning?(): string | undefined
  /** Who comes over that connection and shows that token; or why it is nobody. */
  identify(token: string | undefined, socket: Socket): Identity | LatchkeyError
  /** A WebSocket of a member or a client. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, proven: Proven): void
  /** New certificates and tokens; a TypeError, and nothing was changed. */
  reload(given: ReloadOptions): void
  figures(): Readonly<Record<string, number>>
  /** Settles when the member has stopped by itself, with the reason. */
  readonly failed: Promise<Error>
}

export type OpenMember = (options: OpenOptions) => Promise<Member>
