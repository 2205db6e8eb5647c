// Driver: a simulated network between members in one process: their connections, and their transports.
// The laws of the real transport hold here too (TR1 to TR5 in net/transport-interface.ts).

import { Emitter, type Random } from '@latchkey/base'
import { pack, unpack } from '@latchkey/protocol'
import type { MemberId, Message } from '../core/types.js'
import { messageItem } from '../net/message-encoder.js'
import { toMessage } from '../net/message-decoder.js'
import { isRefusal, judgeInfo, type Refusal } from '../net/handshake-frames.js'
import type { PeerInfo, Transport, TransportEvents } from '../net/transport-interface.js'
import type { TransportOwner } from '../node/replica-types.js'
import { type ConnectionOptions, MemoryConnection, type Side } from './simulated-connection.js'
import type { Cuts } from './network-cuts.js'
import type { HostProcess } from './simulated-host.js'
import type { Timeline } from './simulated-time-types.js'

type Frame =
  | { readonly kind: 'message'; readonly message: Message }
  | { readonly kind: 'packed'; readonly item: Uint8Array; readonly blobs: readonly Uint8Array[] }
  | { readonly kind: 'app'; readonly bytes: Uint8Array }

interface Line {
  readonly connection: MemoryConnection
  readonly side: Side
  readonly info: PeerInfo
}

const BULK = new Set(['append', 'snapshot'])

class MemoryTransport extends Emitter<TransportEvents> implements Transport {
  readonly #network: MemoryNetwork
  readonly id: MemberId
  readonly owner: TransportOwner
  readonly process: HostProcess
  readonly boot: number
  wanted: readonly MemberId[] = []
  readonly lines = new Map<MemberId, Line>()
  /** The members whose connection was lost, and whether their process is known to have ended. */
  readonly lost = new Map<MemberId, { readonly info: PeerInfo; dead: boolean }>()
  #closed = false

  constructor(
    network: MemoryNetwork,
    id: MemberId,
    owner: TransportOwner,
    process: HostProcess,
    boot: number,
  ) {
    super()
    this.#network = network
    this.id = id
    this.owner = owner
    this.process = process
    this.boot = boot
  }

  get open(): boolean {
    return !this.#closed && !this.process.dead
  }

  info(): PeerInfo {
    return { id: this.id, boot: this.boot, group: 0, level: 1, version: 1, ...this.owner.identity() }
  }

  send(to: MemberId, message: Message): void {
    const line = this.lines.get(to)
    if (line === undefined) return
    line.connection.send(line.side, this.#network.frame(message), BULK.has(message.type) ? 1 : 0)
  }

  sendApp(to: MemberId, bytes: Uint8Array): boolean {
    const line = this.lines.get(to)
    if (line === undefined) return false
    line.connection.send(line.side, { kind: 'app', bytes: bytes.slice() } satisfies Frame)
    return true
  }

  flush(): void {}

  setPeers(peers: Readonly<Record<MemberId, unknown>>): void {
    this.wanted = Object.keys(peers)
    this.#network.look(this.id)
  }

  connected(id: MemberId): boolean {
    return this.lines.has(id)
  }

  peer(id: MemberId): PeerInfo | undefined {
    return this.lines.get(id)?.info
  }

  recheck(): void {
    for (const [id, line] of this.lines) if (this.refusalOf(line.info) !== undefined) this.#hangUp(id, line)
  }

  /** Undefined if the checks of the real handshake accept the peer. */
  refusalOf(info: PeerInfo): Refusal | undefined {
    const self = { ...this.info(), cluster: '', tokens: [] }
    const verdict = judgeInfo(self, info, (one) => this.owner.admit(one))
    return isRefusal(verdict) ? verdict : undefined
  }

  async close(): Promise<void> {
    this.#closed = true
    this.lines.clear()
    this.#network.died(this.id, false)
  }

  up(line: Line): void {
    const { id } = line.info
    const before = this.lost.get(id)
    if (before !== undefined && before.info.boot !== line.info.boot) this.ended(id)
    this.lost.delete(id)
    this.lines.set(id, line)
    this.emit('peer', { id, state: 'up', info: line.info })
  }

  gone(id: MemberId, connection: MemoryConnection): void {
    const line = this.lines.get(id)
    if (line?.connection !== connection) return
    this.lines.delete(id)
    this.lost.set(id, { info: line.info, dead: false })
    this.emit('peer', { id, state: 'gone', info: line.info })
  }

  /** Called when this member ('us') or the other member ('them') has refused a handshake. */
  refused(by: 'us' | 'them', { code, reason }: Refusal, info: PeerInfo): void {
    this.process.deliver(() => {
      if (this.open) this.emit('refused', { id: info.id, by, code, reason, info })
    })
  }

  ended(id: MemberId): void {
    const lost = this.lost.get(id)
    if (lost === undefined || lost.dead) return
    lost.dead = true
    this.emit('peer', { id, state: 'dead', info: lost.info })
  }

  receive(from: MemberId, frame: Frame): void {
    if (this.#closed) return
    if (frame.kind === 'app') return this.emit('app', { from, bytes: frame.bytes })
    const message = this.#network.opened(frame, from, this.id)
    if (message === undefined) return
    this.emit('message', message)
    this.#network.handled(message)
  }

  #hangUp(id: MemberId, line: Line): void {
    line.connection.end(line.side)
    this.gone(id, line.connection)
  }
}

export interface NetworkOptions extends ConnectionOptions {
  /** True if messages are encoded to bytes and decoded again, as on a real connection. */
  readonly encoded: boolean
  readonly codec?: MessageCodec
  readonly dial: DialTimes
}

interface MessageCodec {
  readonly messageItem: typeof messageItem
  readonly toMessage: typeof toMessage
}

/**
 * In microseconds, the shortest and the longest time before an attempt to connect: the first attempt, the
 * first attempt after a connection has closed, and each further attempt.
 */
interface DialTimes {
  readonly first: readonly [number, number]
  readonly afterEnd: readonly [number, number]
  readonly again: readonly [number, number]
}

export class MemoryNetwork {
  readonly #timeline: Timeline
  readonly #cuts: Cuts
  readonly #random: Random
  readonly #codec: MessageCodec
  readonly #options: NetworkOptions
  readonly #transports = new Map<MemberId, MemoryTransport>()
  readonly #connections = new Map<string, MemoryConnection>()
  readonly #dialing = new Set<string>()
  /**
   * True if the member's machine runs. Then the machine refuses connections when no process listens, which
   * proves that the member's process has ended.
   */
  readonly #refuses: (id: MemberId) => boolean
  readonly #listeners = new Set<(message: Message) => void>()
  #boots = 0

  constructor(
    timeline: Timeline,
    cuts: Cuts,
    random: Random,
    options: NetworkOptions,
    refuses: (id: MemberId) => boolean,
  ) {
    this.#timeline = timeline
    this.#cuts = cuts
    this.#random = random
    this.#codec = options.codec ?? { messageItem, toMessage }
    this.#options = options
    this.#refuses = refuses
  }

  open(id: MemberId, owner: TransportOwner, process: HostProcess): MemoryTransport {
    const transport = new MemoryTransport(this, id, owner, process, ++this.#boots)
    this.#transports.set(id, transport)
    this.look(id)
    return transport
  }

  /**
   * Called when the member's process has ended. If `silent`, the whole machine has lost power, so nothing
   * informs the other members.
   */
  died(id: MemberId, silent: boolean): void {
    const transport = this.#transports.get(id)
    if (transport === undefined) return
    this.#transports.delete(id)
    // All connections of the process end. The other end may have closed some of them before, and this process
    // may not know that yet.
    for (const connection of this.#connections.values()) {
      const side = connection.sideOf(transport.process)
      if (side !== undefined) connection.end(side, silent)
    }
  }

  connections(): readonly MemoryConnection[] {
    return [...this.#connections.values()].filter((connection) => !connection.over)
  }

  /**
   * Calls `listener` for each message after the receiver has handled the message. Returns a function that
   * ends these calls.
   */
  overhear(listener: (message: Message) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  handled(message: Message): void {
    for (const listener of this.#listeners) listener(message)
  }

  changed(): void {
    for (const connection of this.#connections.values()) connection.look()
  }

  frame(message: Message): Frame {
    if (!this.#options.encoded) return { kind: 'message', message }
    const blobs: Uint8Array[] = []
    const item = pack(this.#codec.messageItem(message, blobs))
    return { kind: 'packed', item, blobs: blobs.map((blob) => blob.slice()) }
  }

  opened(frame: Exclude<Frame, { kind: 'app' }>, from: MemberId, to: MemberId): Message | undefined {
    if (frame.kind === 'message') return frame.message
    const item = unpack(frame.item) as readonly unknown[]
    const message = this.#codec.toMessage({ item, blobs: frame.blobs }, from, to)
    if (typeof message === 'string') throw new Error(`a message of ${from} was refused: ${message}`)
    return message
  }

  // ---- Connecting

  look(id: MemberId): void {
    for (const peer of this.#transports.keys())
      if (peer !== id) this.#dialSoon(id, peer, this.#options.dial.first)
    for (const peer of this.#transports.get(id)?.wanted ?? [])
      this.#dialSoon(id, peer, this.#options.dial.first)
  }

  dialNow(id: MemberId): void {
    for (const peer of this.#transports.keys()) {
      if (peer === id) continue
      this.#dialing.delete(keyOf(id, peer))
      this.#dialSoon(id, peer, this.#options.dial.first)
    }
  }

  #dialSoon(a: MemberId, b: MemberId, [least, most]: readonly [number, number]): void {
    const key = keyOf(a, b)
    if (this.#dialing.has(key)) return
    this.#dialing.add(key)
    this.#timeline.later(this.#random.between(least, most), () => {
      this.#dialing.delete(key)
      this.#dial(key, a, b)
    })
  }

  #dial(key: string, a: MemberId, b: MemberId): void {
    const [left, right] = [this.#transports.get(a), this.#transports.get(b)]
    const wanted = left?.wanted.includes(b) === true || right?.wanted.includes(a) === true
    const connection = this.#connections.get(key)
    if (!wanted || (connection !== undefined && !connection.over && !this.#stale(connection, left, right)))
      return
    if (left !== undefined && right !== undefined && this.#canMeet(left, right))
      return this.#connect(key, left, right)
    if (left !== undefined && right === undefined) this.#tellEnded(left, b)
    if (right !== undefined && left === undefined) this.#tellEnded(right, a)
    this.#dialSoon(a, b, this.#options.dial.again)
  }

  #stale(
    connection: MemoryConnection,
    left: MemoryTransport | undefined,
    right: MemoryTransport | undefined,
  ): boolean {
    const known = (transport: MemoryTransport | undefined) =>
      transport !== undefined &&
      [...transport.lines.values()].some(
        (line) => line.connection === connection && !connection.knows(line.side),
      )
    return connection.knows(0) !== connection.knows(1) && !known(left) && !known(right)
  }

  #canMeet(left: MemoryTransport, right: MemoryTransport): boolean {
    const [a, b] = [left.process.host, right.process.host]
    if (
      a.stopped ||
      b.stopped ||
      this.#cuts.blocked(a.index, b.index) ||
      this.#cuts.blocked(b.index, a.index)
    )
      return false
    if (left.lines.has(right.id) || right.lines.has(left.id)) return false
    const refusals = [refuse(left, right), refuse(right, left)]
    return refusals.every((isRefused) => !isRefused)
  }

  #tellEnded(transport: MemoryTransport, peer: MemberId): void {
    if (transport.lost.get(peer)?.dead === false && this.#refuses(peer))
      transport.process.deliver(() => transport.ended(peer))
  }

  #connect(key: string, left: MemoryTransport, right: MemoryTransport): void {
    const pair = [left, right] as const
    const end = (side: Side) => {
      const [me, peer] = side === 0 ? pair : [right, left]
      return {
        process: me.process,
        receive: (frame: unknown) =>
          frame === 'up' ? me.up(lines[side]) : me.receive(peer.id, frame as Frame),
        closed: () => {
          me.gone(peer.id, connection)
          if (me.open) this.#dialSoon(me.id, peer.id, this.#options.dial.afterEnd)
        },
      }
    }
    const infos = [left.info(), right.info()] as const
    const connection = new MemoryConnection(this.#timeline, this.#cuts, this.#random, this.#options, [
      end(0),
      end(1),
    ])
    const lines = [
      { connection, side: 0 as const, info: infos[1] },
      { connection, side: 1 as const, info: infos[0] },
    ] as const
    this.#connections.set(key, connection)
    for (const side of [0, 1] as const) connection.greet(side)
  }
}

function refuse(by: MemoryTransport, other: MemoryTransport): boolean {
  const refusal = by.refusalOf(other.info())
  if (refusal === undefined) return false
  by.refused('us', refusal, other.info())
  other.refused('them', refusal, by.info())
  return true
}

const keyOf = (a: MemberId, b: MemberId): string => (a < b ? `${a}|${b}` : `${b}|${a}`)
