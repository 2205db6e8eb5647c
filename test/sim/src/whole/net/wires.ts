// Driver: the members' network: who is connected with whom, and the transports that the members hold.

import { Emitter, type Random } from '@latchkey/base'
import type { MemberId, Message, TransportOwner } from '@latchkey/raft'
import type { PeerInfo, Transport, TransportEvents } from '@latchkey/raft/net'
import { pack, unpack } from '@latchkey/protocol'
import type { Ground } from '../ground/ground.js'
import type { Life } from '../ground/host.js'
import type { House } from '../house.js'
import type { Cuts } from './cuts.js'
import { Pipe, type PipeOptions, type Side } from './pipe.js'

type Frame =
  | { readonly kind: 'message'; readonly message: Message }
  | { readonly kind: 'packed'; readonly item: Uint8Array; readonly blobs: readonly Uint8Array[] }
  | { readonly kind: 'app'; readonly bytes: Uint8Array }

/** One's own end of a connection. */
interface Line {
  readonly pipe: Pipe
  readonly side: Side
  readonly info: PeerInfo
}

const BULK = new Set(['append', 'snapshot'])

export class Port extends Emitter<TransportEvents> implements Transport {
  readonly #wires: Wires
  readonly id: MemberId
  readonly owner: TransportOwner
  readonly life: Life
  readonly boot: number
  wanted: readonly MemberId[] = []
  readonly lines = new Map<MemberId, Line>()
  /** Whose way is gone, and whether its end is known. */
  readonly lost = new Map<MemberId, { readonly info: PeerInfo; dead: boolean }>()
  #closed = false

  constructor(wires: Wires, id: MemberId, owner: TransportOwner, life: Life, boot: number) {
    super()
    this.#wires = wires
    this.id = id
    this.owner = owner
    this.life = life
    this.boot = boot
  }

  get open(): boolean {
    return !this.#closed && !this.life.dead
  }

  info(): PeerInfo {
    return { id: this.id, boot: this.boot, group: 0, level: 1, version: 1, ...this.owner.identity() }
  }

  send(to: MemberId, message: Message): void {
    const line = this.lines.get(to)
    if (line === undefined) return
    line.pipe.send(line.side, this.#wires.frame(message), BULK.has(message.type) ? 1 : 0)
  }

  sendApp(to: MemberId, bytes: Uint8Array): boolean {
    const line = this.lines.get(to)
    if (line === undefined) return false
    line.pipe.send(line.side, { kind: 'app', bytes: bytes.slice() } satisfies Frame)
    return true
  }

  flush(): void {}

  setPeers(peers: Readonly<Record<MemberId, unknown>>): void {
    this.wanted = Object.keys(peers)
    this.#wires.look(this.id)
  }

  connected(id: MemberId): boolean {
    return this.lines.has(id)
  }

  peer(id: MemberId): PeerInfo | undefined {
    return this.lines.get(id)?.info
  }

  recheck(): void {
    for (const [id, line] of this.lines) if (this.owner.admit(line.info) !== undefined) this.#hangUp(id, line)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.lines.clear()
    this.#wires.died(this.id, false)
  }

  // ---- what the network tells

  up(line: Line): void {
    const { id } = line.info
    const before = this.lost.get(id)
    if (before !== undefined && before.info.boot !== line.info.boot) this.ended(id)
    this.lost.delete(id)
    this.lines.set(id, line)
    this.emit('peer', { id, state: 'up', info: line.info })
  }

  gone(id: MemberId, pipe: Pipe): void {
    const line = this.lines.get(id)
    if (line?.pipe !== pipe) return
    this.lines.delete(id)
    this.lost.set(id, { info: line.info, dead: false })
    this.emit('peer', { id, state: 'gone', info: line.info })
  }

  /** Its process is known to have ended. */
  ended(id: MemberId): void {
    const lost = this.lost.get(id)
    if (lost === undefined || lost.dead) return
    lost.dead = true
    this.emit('peer', { id, state: 'dead', info: lost.info })
  }

  hear(from: MemberId, frame: Frame): void {
    if (this.#closed) return
    if (frame.kind === 'app') return this.emit('app', { from, bytes: frame.bytes })
    const message = this.#wires.opened(frame, from, this.id)
    if (message === undefined) return
    this.emit('message', message)
    this.#wires.heard(message)
  }

  #hangUp(id: MemberId, line: Line): void {
    line.pipe.end(line.side)
    this.gone(id, line.pipe)
  }
}

export interface WiresOptions extends PipeOptions {
  /** Frames are made bytes and read again. */
  readonly encoded: boolean
}

export class Wires {
  readonly #ground: Ground
  readonly #cuts: Cuts
  readonly #random: Random
  readonly #house: House
  readonly #options: WiresOptions
  readonly #ports = new Map<MemberId, Port>()
  readonly #pipes = new Map<string, Pipe>()
  readonly #dialing = new Set<string>()
  /** A host that answers with a refusal, or with silence. */
  readonly #refuses: (id: MemberId) => boolean
  readonly #ears = new Set<(message: Message) => void>()
  #boots = 0

  constructor(
    ground: Ground,
    cuts: Cuts,
    random: Random,
    house: House,
    options: WiresOptions,
    refuses: (id: MemberId) => boolean,
  ) {
    this.#ground = ground
    this.#cuts = cuts
    this.#random = random
    this.#house = house
    this.#options = options
    this.#refuses = refuses
  }

  open(id: MemberId, owner: TransportOwner, life: Life): Port {
    const port = new Port(this, id, owner, life, ++this.#boots)
    this.#ports.set(id, port)
    this.look(id)
    return port
  }

  /** The process is gone. `silent`: with its machine. */
  died(id: MemberId, silent: boolean): void {
    const port = this.#ports.get(id)
    if (port === undefined) return
    this.#ports.delete(id)
    // Also those that it had not yet heard of.
    for (const pipe of this.#pipes.values()) {
      const side = pipe.sideOf(port.life)
      if (side !== undefined) pipe.end(side, silent)
    }
  }

  pipes(): readonly Pipe[] {
    return [...this.#pipes.values()].filter((pipe) => !pipe.over)
  }

  /** `ear` is told of each message behind the step that it was to the member. Returns the end of that. */
  overhear(ear: (message: Message) => void): () => void {
    this.#ears.add(ear)
    return () => this.#ears.delete(ear)
  }

  heard(message: Message): void {
    for (const ear of this.#ears) ear(message)
  }

  /** Cuts have changed. */
  changed(): void {
    for (const pipe of this.#pipes.values()) pipe.look()
  }

  frame(message: Message): Frame {
    if (!this.#options.encoded) return { kind: 'message', message }
    const blobs: Uint8Array[] = []
    const item = pack(this.#house.messageItem(message, blobs))
    return { kind: 'packed', item, blobs: blobs.map((blob) => blob.slice()) }
  }

  opened(frame: Exclude<Frame, { kind: 'app' }>, from: MemberId, to: MemberId): Message | undefined {
    if (frame.kind === 'message') return frame.message
    const item = unpack(frame.item) as readonly unknown[]
    const message = this.#house.toMessage({ item, blobs: frame.blobs }, from, to)
    if (typeof message === 'string') throw new Error(`a message of ${from} was refused: ${message}`)
    return message
  }

  // ---- connecting

  look(id: MemberId): void {
    for (const peer of this.#ports.keys()) if (peer !== id) this.#dialSoon(id, peer, 500, 15_000)
    for (const peer of this.#ports.get(id)?.wanted ?? []) this.#dialSoon(id, peer, 500, 15_000)
  }

  #dialSoon(a: MemberId, b: MemberId, least: number, most: number): void {
    const key = a < b ? `${a}|${b}` : `${b}|${a}`
    if (this.#dialing.has(key)) return
    this.#dialing.add(key)
    this.#ground.later(this.#random.between(least, most), () => {
      this.#dialing.delete(key)
      this.#dial(key, a, b)
    })
  }

  #dial(key: string, a: MemberId, b: MemberId): void {
    const [left, right] = [this.#ports.get(a), this.#ports.get(b)]
    const wanted = left?.wanted.includes(b) === true || right?.wanted.includes(a) === true
    const pipe = this.#pipes.get(key)
    if (!wanted || (pipe !== undefined && !pipe.over && !this.#stale(pipe, left, right))) return
    if (left !== undefined && right !== undefined && this.#canMeet(left, right))
      return this.#connect(key, left, right)
    if (left !== undefined && right === undefined) this.#tellEnded(left, b)
    if (right !== undefined && left === undefined) this.#tellEnded(right, a)
    this.#dialSoon(a, b, 20_000, 120_000)
  }

  /** A connection of a process that is no more. */
  #stale(pipe: Pipe, left: Port | undefined, right: Port | undefined): boolean {
    const known = (port: Port | undefined) =>
      port !== undefined &&
      [...port.lines.values()].some((line) => line.pipe === pipe && !pipe.knows(line.side))
    return pipe.knows(0) !== pipe.knows(1) && !known(left) && !known(right)
  }

  #canMeet(left: Port, right: Port): boolean {
    const [a, b] = [left.life.host, right.life.host]
    if (
      a.stopped ||
      b.stopped ||
      this.#cuts.blocked(a.index, b.index) ||
      this.#cuts.blocked(b.index, a.index)
    )
      return false
    if (left.lines.has(right.id) || right.lines.has(left.id)) return false
    return left.owner.admit(right.info()) === undefined && right.owner.admit(left.info()) === undefined
  }

  #tellEnded(port: Port, peer: MemberId): void {
    if (port.lost.get(peer)?.dead === false && this.#refuses(peer)) port.life.deliver(() => port.ended(peer))
  }

  #connect(key: string, left: Port, right: Port): void {
    const pair = [left, right] as const
    const end = (side: Side) => {
      const [me, peer] = side === 0 ? pair : [right, left]
      return {
        life: me.life,
        receive: (frame: unknown) => (frame === 'up' ? me.up(lines[side]) : me.hear(peer.id, frame as Frame)),
        closed: () => {
          me.gone(peer.id, pipe)
          if (me.open) this.#dialSoon(me.id, peer.id, 500, 30_000)
        },
      }
    }
    const infos = [left.info(), right.info()] as const
    const pipe = new Pipe(this.#ground, this.#cuts, this.#random, this.#options, [end(0), end(1)])
    const lines = [
      { pipe, side: 0 as const, info: infos[1] },
      { pipe, side: 1 as const, info: infos[0] },
    ] as const
    this.#pipes.set(key, pipe)
    // Behind the handshake, on both lanes in front of everything else.
    for (const side of [0, 1] as const) pipe.greet(side)
  }
}
