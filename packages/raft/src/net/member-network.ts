// Driver: owns all connections of this member: one outgoing connection to each other member, and all incoming
// connections.

import { Emitter } from '@latchkey/base'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { MemberId, Message } from '../core/types.js'
import { IncomingConnections } from './incoming-connections.js'
import { OutgoingConnection } from './outgoing-connection.js'
import { RefusedHandshakesLog } from './refused-handshakes-log.js'
import { type Answering, DuplicateProcesses } from './duplicate-member-process.js'
import {
  type NetOptions,
  type NetSettings,
  type NetStats,
  newStats,
  withDefaults,
} from './network-settings.js'
import type {
  PeerInfo,
  PeerStats,
  PeerUrls,
  RefusedEvent,
  Transport,
  TransportEvents,
} from './transport-interface.js'

export class MemberNetwork extends Emitter<TransportEvents> implements Transport {
  readonly stats: NetStats = newStats()
  readonly #settings: NetSettings
  readonly #incomingConnections: IncomingConnections
  readonly #links = new Map<MemberId, OutgoingConnection>()
  readonly #received = new Map<MemberId, number>()
  /**
   * Connections to members whose address in the options differs from their address in the membership. Each
   * connection asks which member answers at the address in the options.
   */
  readonly #asking = new Map<MemberId, OutgoingConnection>()
  readonly #refusals: RefusedHandshakesLog
  readonly #duplicates = new DuplicateProcesses()
  /** Outgoing connections that send at the end of this turn of the event loop. */
  readonly #due = new Set<OutgoingConnection>()
  #flushDue = false
  #closed: Promise<void> | undefined

  constructor(options: NetOptions) {
    super()
    this.#settings = withDefaults(options, (info) => this.#duplicates.why(info, this.#answering(info.id)))
    this.#refusals = new RefusedHandshakesLog(this.#settings.refusals)
    this.#incomingConnections = new IncomingConnections(
      this.#settings,
      {
        message: (message) => this.#tell('message', message),
        app: (from, bytes) => this.#tell('app', { from, bytes }),
        received: (from, bytes) => {
          if (this.#links.has(from)) this.#received.set(from, (this.#received.get(from) ?? 0) + bytes)
        },
        refused: (event, where) => this.#refused(event, where, 'came'),
        came: (info) => this.#came(info),
      },
      this.stats,
    )
  }

  /**
   * If a listener throws, this method throws too. Then the handler of the connection that caused the event
   * closes that connection.
   */
  #tell<Name extends keyof TransportEvents>(name: Name, event: TransportEvents[Name]): void {
    if (this.#closed !== undefined) return
    const faults: unknown[] = []
    this.emit(name, event, (error) => void faults.push(error))
    if (faults.length > 0) throw faults[0]
  }

  #refused(event: RefusedEvent, where: string, way: 'came' | 'dialled'): void {
    if (this.#closed !== undefined) return
    this.#refusals.note(event, where, way)
    this.#tell('refused', event)
  }

  #came({ id, boot }: PeerInfo): void {
    this.#refusals.admitted(id, 'us')
    this.#links.get(id)?.knock(boot)
  }

  #answering(id: MemberId): Answering | undefined {
    const link = this.#links.get(id)
    return link?.info === undefined ? undefined : { info: link.info, url: link.url }
  }

  /**
   * Called when the process `info` has answered at its member's address. If another process is connected as
   * the same member, the connection of that other process is closed, and its later attempts are refused.
   */
  #answered(info: PeerInfo): void {
    const other = this.#incomingConnections.sendAway(info)
    if (other !== undefined) this.#duplicates.note(other)
  }

  // ---- Sending

  send(to: MemberId, message: Message): void {
    const link = this.#links.get(to)
    if (link?.send(message)) this.#soon(link)
    else this.stats.dropped++
  }

  sendApp(to: MemberId, bytes: Uint8Array): boolean {
    const link = this.#links.get(to)
    if (!link?.sendApp(bytes)) return false
    this.#soon(link)
    return true
  }

  #soon(link: OutgoingConnection): void {
    this.#due.add(link)
    if (this.#flushDue) return
    this.#flushDue = true
    this.#settings.defer(() => this.flush())
  }

  flush(): void {
    this.#flushDue = false
    if (this.#due.size === 0) return
    const due = [...this.#due]
    this.#due.clear()
    for (const link of due) link.pump()
  }

  // ---- Peers

  setPeers(peers: PeerUrls): void {
    if (this.#closed !== undefined) return
    const wanted = new Map(Object.entries(peers))
    for (const [id, link] of this.#links) {
      const url = wanted.get(id)?.url
      if (url === undefined) link.leave(() => this.#drop(link))
      else if (url === link.url) link.stay()
      else {
        this.#drop(link)
        void link.close()
      }
    }
    for (const [id, { url }] of wanted) if (!this.#links.has(id)) this.#add(id, url)
    for (const id of this.#received.keys()) if (!wanted.has(id)) this.#received.delete(id)
    for (const [id, link] of this.#asking) if (wanted.get(id)?.given !== link.url) this.#asked(link)
    for (const [id, { given }] of wanted)
      if (given !== undefined && !this.#asking.has(id)) this.#ask(id, given)
    this.recheck()
  }

  #add(id: MemberId, url: string): void {
    const events = {
      peer: (event: TransportEvents['peer']) => {
        if (event.state === 'up') {
          this.#refusals.admitted(id, 'them')
          this.#answered(event.info)
        }
        this.#tell('peer', event)
      },
      refused: (event: RefusedEvent, where: string) => this.#refused(event, where, 'dialled'),
    }
    const link = new OutgoingConnection({ id, url }, this.#settings, events, this.stats)
    this.#links.set(id, link)
    link.start()
  }

  #ask(id: MemberId, url: string): void {
    const identified = (info: PeerInfo, admitted: boolean) => {
      // A new cluster has no id before its first election. So this member asks the address again later.
      if (info.clusterId === '') return link.hangUp()
      this.#asked(link)
      this.#tell('answered', { url, info, admitted })
    }
    const events = {
      peer: ({ state, info }: TransportEvents['peer']) => {
        if (state === 'up') identified(info, true)
      },
      refused: (event: RefusedEvent, where: string) => {
        if (this.#closed !== undefined) return
        this.#refusals.note(event, where, 'dialled')
        if (event.info?.id === id) identified(event.info, false)
      },
    }
    const link = new OutgoingConnection({ id, url, asks: true }, this.#settings, events, this.stats)
    this.#asking.set(id, link)
    link.start()
  }

  #asked(link: OutgoingConnection): void {
    if (this.#asking.get(link.id) === link) this.#asking.delete(link.id)
    void link.close()
  }

  #drop(link: OutgoingConnection): void {
    this.#due.delete(link)
    if (this.#links.get(link.id) !== link) return
    this.#links.delete(link.id)
    this.#duplicates.forget(link.id)
  }

  connected(id: MemberId): boolean {
    return this.#links.get(id)?.info !== undefined
  }

  peer(id: MemberId): PeerInfo | undefined {
    return this.#incomingConnections.info(id) ?? this.#links.get(id)?.info
  }

  peerStats(): Map<MemberId, PeerStats> {
    const statsOf = ({ id, roundTripMillis, bytesSent }: OutgoingConnection): PeerStats => ({
      roundTripMillis,
      bytesSent,
      bytesReceived: this.#received.get(id) ?? 0,
    })
    return new Map([...this.#links].map(([id, link]) => [id, statsOf(link)]))
  }

  waitingBytes(id: MemberId): number {
    return this.#links.get(id)?.waitingBytes ?? 0
  }

  /**
   * In bytes, what the socket to the member holds because the operating system has not accepted it. The next
   * heartbeat waits for these bytes.
   */
  heldBytes(id: MemberId): number {
    return this.#links.get(id)?.heldBytes ?? 0
  }

  recheck(): void {
    this.#incomingConnections.recheck()
    for (const link of [...this.#links.values()]) link.recheck()
  }

  // ---- Incoming connections

  /**
   * Handles the 'upgrade' event of the HTTP server whose port this member shares. Returns false if the
   * request is not for MEMBERS_PATH. `proven` is called once, when the other side has proved that it is a
   * member.
   */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, proven?: () => void): boolean {
    return this.#incomingConnections.upgrade(request, socket, head, proven)
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    this.flush()
    const links = [...this.#links.values(), ...this.#asking.values()]
    this.#links.clear()
    this.#asking.clear()
    await Promise.all([this.#incomingConnections.close(), ...links.map((link) => link.close())])
  }
}
