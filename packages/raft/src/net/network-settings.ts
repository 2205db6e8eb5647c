// Types: the options of the network between members, and their defaults.

import { type Clock, ConnectionErrors, type Logger, newNonce, type Random, RefusalLog } from '@latchkey/base'
import type { BackoffLimits } from './backoff.js'
import type { Admit, Missing, Self } from './handshake-frames.js'
import { LANE_CAPS, type LaneCaps } from './send-queues.js'
import type { MemberTls } from './tls.js'

/** Time limits of connections between members, in ms. Only `missed` is a number of pings. */
export interface Timing {
  /** How long an attempt to connect may take, until the welcome of the handshake. */
  readonly connect: number
  /** How long the handshake of an incoming connection may take. */
  readonly hello: number
  readonly ping: number
  /** The connection is closed after this number of pings in a row without an answer (C8). */
  readonly missed: number
  /**
   * How long the connection to a removed member stays open, so that the member learns that it was removed.
   */
  readonly linger: number
  /**
   * After a connection that lasted at least this long has closed, the peer is dialled again immediately. So a
   * follower finds out quickly whether its leader has died. After a shorter connection this member waits
   * first, because the peer may close each connection immediately.
   */
  readonly lived: number
  /** How long this side waits for the close handshake of a WebSocket. */
  readonly farewell: number
  readonly backoff: BackoffLimits
}

export const TIMING: Timing = {
  connect: 2_000,
  hello: 5_000,
  ping: 500,
  missed: 6,
  linger: 5_000,
  lived: 100,
  farewell: 250,
  backoff: { least: 20, most: 1_000 },
}

export interface NetOptions {
  readonly clock: Clock
  readonly random: Random
  /** Returns 32 random bytes that nobody can guess. By default the operating system makes them. */
  readonly newNonce?: (() => Uint8Array) | undefined
  /** Calls `run` after all input of this turn of the event loop has been handled. */
  readonly defer: (run: () => void) => void
  readonly logger: Logger
  readonly refusals?: RefusalLog | undefined
  readonly errors?: ConnectionErrors | undefined
  readonly self: () => Self
  /** By default every peer with the right cluster and token is admitted. */
  readonly admit?: Admit | undefined
  /**
   * Finds out whether a peer is missing in the membership (handshake-frames.ts). The handshake sends the
   * result to the peer. So a removed member that does not know its removal learns of it when it connects.
   */
  readonly missing?: Missing | undefined
  /**
   * With `tls`, all addresses must begin with `wss:`. If `tls.ca` is set, both sides must show certificates.
   * `tls` is read again for each connection, because certificates may be replaced while the member runs.
   */
  readonly tls?: MemberTls | undefined
  readonly timing?: Partial<Timing> | undefined
  readonly caps?: Partial<LaneCaps> | undefined
}

export interface NetSettings {
  readonly clock: Clock
  readonly random: Random
  readonly newNonce: () => Uint8Array
  readonly defer: (run: () => void) => void
  readonly logger: Logger
  readonly refusals: RefusalLog
  readonly errors: ConnectionErrors
  readonly self: () => Self
  readonly admit: Admit
  readonly missing: Missing
  readonly tls: MemberTls | undefined
  readonly timing: Timing
  readonly caps: LaneCaps
}

/**
 * `whyDuplicate` returns the reason to refuse a peer that is a second process of a connected member
 * (duplicate-member-process.ts).
 */
export function withDefaults(options: NetOptions, whyDuplicate: Admit = () => undefined): NetSettings {
  return {
    clock: options.clock,
    random: options.random,
    newNonce: options.newNonce ?? newNonce,
    defer: options.defer,
    logger: options.logger,
    refusals: options.refusals ?? new RefusalLog(options),
    errors: options.errors ?? new ConnectionErrors(options),
    self: options.self,
    admit: (info) => whyDuplicate(info) ?? options.admit?.(info),
    missing: options.missing ?? (() => undefined),
    get tls() {
      return options.tls
    },
    timing: { ...TIMING, ...options.timing },
    caps: { ...LANE_CAPS, ...options.caps },
  }
}

export interface NetStats {
  framesSent: number
  framesReceived: number
  /** Messages that were not sent because the peer was not connected or too slow. */
  dropped: number
  /** Messages whose type this version does not know (L22). */
  unknown: number
  /** Each invalid frame closed its connection. */
  malformed: number
  refused: number
}

export const newStats = (): NetStats => ({
  framesSent: 0,
  framesReceived: 0,
  dropped: 0,
  unknown: 0,
  malformed: 0,
  refused: 0,
})
