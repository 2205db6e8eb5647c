// Test: members' network in one process. Messages of one turn go through the real lanes into real frames,
// which are counted; what arrives is what was sent.

import { type Defer, Emitter } from '@latchkey/base'
import type { MemberId, Message, PeerInfo, Transport, TransportEvents, TransportOwner } from '@latchkey/raft'
import { SendQueues } from '../../../../packages/raft/src/net/send-queues.js'

/** A frame's way to the other member. */
const FLIGHT_MILLIS = 0.1

export interface WireWorld {
  readonly wires: Map<MemberId, Wire>
  readonly frames: { count: number; bytes: number }
  after(millis: number, run: () => void): void
}

type Sent = { readonly message: Message } | { readonly app: Uint8Array }

interface Way {
  readonly lanes: SendQueues
  waiting: Sent[]
}

export class Wire extends Emitter<TransportEvents> implements Transport {
  readonly id: MemberId
  readonly #world: WireWorld
  readonly #owner: TransportOwner
  readonly #atEnd: Defer
  readonly #ways = new Map<MemberId, Way>()
  #due = false

  constructor(world: WireWorld, id: MemberId, owner: TransportOwner, atEnd: Defer) {
    super()
    this.#world = world
    this.id = id
    this.#owner = owner
    this.#atEnd = atEnd
    world.wires.set(id, this)
  }

  send(to: MemberId, message: Message): void {
    const way = this.#ways.get(to)
    if (way === undefined) return
    way.lanes.add(message)
    way.waiting.push({ message })
    this.#soon()
  }

  sendApp(to: MemberId, app: Uint8Array): boolean {
    const way = this.#ways.get(to)
    if (way === undefined || !way.lanes.addApp(app)) return false
    way.waiting.push({ app })
    this.#soon()
    return true
  }

  #soon(): void {
    if (this.#due) return
    this.#due = true
    this.#atEnd(() => this.flush())
  }

  flush(): void {
    this.#due = false
    for (const [to, way] of this.#ways) if (!way.lanes.empty) this.#pump(to, way)
  }

  #pump(to: MemberId, way: Way): void {
    const { frames } = this.#world
    for (let frame = way.lanes.next(true); frame !== undefined; frame = way.lanes.next(true)) {
      frames.count++
      frames.bytes += frame.length
    }
    const sent = way.waiting
    way.waiting = []
    this.#world.after(FLIGHT_MILLIS, () => {
      for (const one of sent) this.#world.wires.get(to)?.hear(this.id, one)
    })
  }

  hear(from: MemberId, sent: Sent): void {
    if ('message' in sent) this.emit('message', sent.message)
    else this.emit('app', { from, bytes: sent.app })
  }

  /** Everybody is there from the beginning, and stays. */
  setPeers(peers: Readonly<Record<MemberId, unknown>>): void {
    for (const id of Object.keys(peers)) {
      const info = this.#world.wires.get(id)?.info()
      if (info === undefined || this.#ways.has(id)) continue
      this.#ways.set(id, { lanes: new SendQueues(), waiting: [] })
      this.emit('peer', { id, state: 'up', info })
    }
  }

  info(): PeerInfo {
    return { id: this.id, boot: 1, group: 0, level: 1, version: 1, ...this.#owner.identity() }
  }

  connected(id: MemberId): boolean {
    return this.#ways.has(id)
  }

  peer(id: MemberId): PeerInfo | undefined {
    return this.#world.wires.get(id)?.info()
  }

  recheck(): void {}

  async close(): Promise<void> {}
}
