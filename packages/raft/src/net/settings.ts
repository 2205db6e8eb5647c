// Types: the options of the network between members, and their defaults.

import { type Clock, ConnectionErrors, type Logger, newNonce, type Random, RefusalLog } from '@latchkey/base'
import type { BackoffLimits } from './backoff.js'
import type { Admit, Missing, Self } from './handshake.js'
import { LANE_CAPS, type LaneCaps } from './send-queues.js'
import type { MemberTls } from './tls.js'

/** All times in ms; `missed` is a count. */
export interface Timing {
  /** From the first packet to the welcome; then the attempt is given up. */
  readonly connect: number
  /** An incoming connection whose handshake takes longer is closed, at whichever step it is. */
  readonly hello: number
  /** The interval between two pings. */
  readonly ping: number
  /** The peer counts as gone after this many pings without an answer (C8). */
  readonly missed: number
  /** A removed member can still be told for this long why it was removed. */
  readonly linger: number
  /**
   * A connection that lasted at least this long is dialled again at once when it closes. A follower needs to
   * know then whether its leader is dead, however often that leader has restarted. A shorter connection shows
   * a peer that accepts and then closes, so a pause follows.
   */
  readonly lived: number
  /** The time for the close handshake of a connection. */
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
  /** 32 bytes that nobody can guess; default: from the system. */
  readonly newNonce?: (() => Uint8Array) | undefined
  /** Runs a function after the input of the current turn of the event loop: setImmediate. */
  readonly defer: (run: () => void) => void
  readonly logger: Logger
  /** Counts refusals; by default an object of its own. */
  readonly refusals?: RefusalLog | undefined
  /** Counts unexpected errors of connection handlers; by default an object of its own. */
  readonly errors?: ConnectionErrors | undefined
  readonly self: () => Self
  /** Without it every peer with the right cluster and credentials is admitted. */
  readonly admit?: Admit | undefined
  /**
   * Its answer is sent to each admitted member: a member that was removed may reconnect without knowing of
   * its removal.
   */
  readonly missing?: Missing | undefined
  /**
   * With `ca` both members show each other certificates, and all addresses must be `wss:`. It is a function,
   * called for each connection, because certificates may be replaced.
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

/** `whySecond`: the reason why a peer is a second process beside the real member. */
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
  /** Messages not sent because a peer was not connected or too slow. */
  dropped: number
  /** Messages of a type that this build does not know (L22). */
  unknown: number
  /** Malformed frames; each closed its connection. */
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
