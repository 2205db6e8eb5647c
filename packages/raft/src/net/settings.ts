// Types: what members' networking is made of, and the values that stand when nothing was said.

import { type Clock, ConnectionErrors, type Logger, newNonce, type Random, RefusalLog } from '@latchkey/base'
import type { BackoffLimits } from './backoff.js'
import type { Admit, Missing, Self } from './handshake.js'
import { LANE_CAPS, type LaneCaps } from './send-queues.js'
import type { MemberTls } from './tls.js'

/** All in ms, but `missed`. */
export interface Timing {
  /** From the first packet to the welcome; then the attempt is given up. */
  readonly connect: number
  /** A connection that has not proved who it is by then is closed, however far its handshake has come. */
  readonly hello: number
  /** Between two signs of life that are asked for. */
  readonly ping: number
  /** That many of them without an answer, and the other end is gone (C8). */
  readonly missed: number
  /** One who is no member any more may still be told why for that long. */
  readonly linger: number
  /**
   * A connection that lived that long is redialled at once when it closes: whether its leader is dead is what a follower has to
   * know then, however often that one has come and gone before. Less than that is a peer that accepts and does not mean it.
   */
  readonly lived: number
  /** For the last words of a connection that is closed. */
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
  /** Runs behind what the current turn of the event loop still delivers: setImmediate. */
  readonly defer: (run: () => void) => void
  readonly logger: Logger
  /** Where refusals are counted; default: of its own. */
  readonly refusals?: RefusalLog | undefined
  /** Where errors that escape from handlers of connections are counted; default: of its own. */
  readonly errors?: ConnectionErrors | undefined
  readonly self: () => Self
  /** Everybody with the right cluster and credentials, where nothing is said. */
  readonly admit?: Admit | undefined
  /** Told to whom was admitted: a removed one may come back without knowing it. */
  readonly missing?: Missing | undefined
  /** Members show each other certificates when `ca` is there; then `wss:` addresses only. Asked at each connection: it may change. */
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

/** `whySecond`: why one who would be admitted is another process than the member that it says to be. */
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

/** Counted since the start; for metrics. */
export interface NetStats {
  framesSent: number
  bytesSent: number
  framesReceived: number
  bytesReceived: number
  /** Messages not sent because a peer was not there or too slow. */
  dropped: number
  /** Messages of a type that this build does not know (L22). */
  unknown: number
  /** Frames that made no sense; each closed its connection. */
  malformed: number
  refused: number
}

export const newStats = (): NetStats => ({
  framesSent: 0,
  bytesSent: 0,
  framesReceived: 0,
  bytesReceived: 0,
  dropped: 0,
  unknown: 0,
  malformed: 0,
  refused: 0,
})
