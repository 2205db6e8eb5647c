// Types: the options of the network between members, and their defaults.

import { type Clock, ConnectionErrors, type Logger, newNonce, type Random, RefusalLog } from '@latchkey/base'
import type { BackoffLimits } from './backoff.js'
import type { Admit, Missing, Self } from './handshake.js'
import { LANE_CAPS, type LaneCaps } from './send-queues.js'
import type { MemberTls } from './tls.js'

/** All times are in ms. `missed` is a number of pings. */
export interface Timing {
  /** The most time from the first packet to the welcome. After this time the attempt is given up. */
  readonly connect: number
  /**
   * An incoming connection whose handshake takes longer than this is closed, even if only the last step is
   * missing.
   */
  readonly hello: number
  /** The interval between two pings. */
  readonly ping: number
  /** After this many pings without an answer the peer counts as gone (C8). */
  readonly missed: number
  /**
   * How long a removed member's connection stays open, so that the removed member can be told why it was
   * removed.
   */
  readonly linger: number
  /**
   * A connection that lasted at least this long is dialled again at once when it closes, because a follower
   * needs to know whether its leader is dead. A shorter connection is dialled again after a pause, because
   * its peer may accept every connection and close it at once.
   */
  readonly lived: number
  /** How long a connection waits for the close handshake of the WebSocket. */
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
  /** Returns 32 bytes that nobody can guess. By default the bytes come from the operating system. */
  readonly newNonce?: (() => Uint8Array) | undefined
  /** Runs a function, by setImmediate, when all input of this turn of the event loop has been handled. */
  readonly defer: (run: () => void) => void
  readonly logger: Logger
  /** Counts refusals. By default the network makes its own RefusalLog. */
  readonly refusals?: RefusalLog | undefined
  /**
   * Counts unexpected errors of connection handlers. By default the network makes its own ConnectionErrors.
   */
  readonly errors?: ConnectionErrors | undefined
  readonly self: () => Self
  /**
   * Decides whether a peer is admitted. Without this function every peer with the right cluster and
   * credentials is admitted.
   */
  readonly admit?: Admit | undefined
  /**
   * The result is sent to each admitted member, so that a member that was removed without knowing it learns
   * of its removal when it reconnects.
   */
  readonly missing?: Missing | undefined
  /**
   * With `ca` both members show each other certificates, and all addresses must be `wss:`. `tls` is read
   * again for each connection, because certificates may be replaced.
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

/** `whySecond` returns why a peer is a second process beside the real member. */
export function settle(options: NetOptions, whySecond: Admit = () => undefined): NetSettings {
  return {
    clock: options.clock,
    random: options.random,
    newNonce: options.newNonce ?? newNonce,
    defer: options.defer,
    logger: options.logger,
    refusals: options.refusals ?? new RefusalLog(options),
    errors: options.errors ?? new ConnectionErrors(options),
    self: options.self,
    admit: (info) => whySecond(info) ?? options.admit?.(info),
    missing: options.missing ?? (() => undefined),
    get tls() {
      return options.tls
    },
    timing: { ...TIMING, ...options.timing },
    caps: { ...LANE_CAPS, ...options.caps },
  }
}

/** Counters since the start, for metrics. */
export interface NetStats {
  framesSent: number
  framesReceived: number
  /** How many messages were not sent because a peer was not connected or too slow. */
  dropped: number
  /** How many messages had a type that this build does not know (L22). */
  unknown: number
  /** Malformed frames. Each closed its connection. */
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
