// Driver: owns every connection of one port: who is a stranger, who a client, who a member, how many places each kind has, and how
// long a stranger may take to say who it is.
//
// Laws
//   1  A connection is a stranger until it has proved that it is a client's or a member's.
//   2  Strangers have places of their own. When these are full, the stranger that came first gives way, and never the newest is
//      refused. Without it the story is: five thousand silent sockets fill the port, and a member that has just lost its connection
//      to the leader is not let in any more.
//   3  Clients never take the places that are kept for members.
//   4  One address has a share of the strangers' places, and of the clients'. Beyond the first its own oldest stranger gives way;
//      beyond the second its next client is refused, with the reason.
//   5  A stranger that has not proved itself in STRANGER_MS is gone. One whose request is being answered is judged again from the
//      end of that answer: an HTTP connection is a client's only while it is being answered.
//
// A member's address says nothing about it: members on one machine share theirs with everybody else there. So it is a stranger on
// the path of members at first like all others, and then has a place that nobody else can take.

import type { Server as HttpServer } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Clock, endRefused, type RefusalLog, type Timer } from '@latchkey/base'

/** A connection that has not said who it is by then is closed. */
export const STRANGER_MS = 5_000
/** An HTTP connection may be idle for so long, and is told that it may. */
export const IDLE_MS = 15_000
/** An answer to somebody who has proved nothing has to be read by then. */
const ANSWER_MS = 60_000
/** Beyond what the connection is told: who asks again in the last moment is still answered. */
const IDLE_SLACK_MS = 1_000

/** How many connections each kind may have. */
export interface Places {
  readonly strangers: number
  readonly strangersOfOneAddress: number
  readonly clients: number
  readonly clientsOfOneAddress: number
}

/** One address may have so many, however small the port's whole is. */
const LEAST_OF_ONE_ADDRESS = 16
const MOST_STRANGERS = 2_000
const KEPT_FOR_MEMBERS = 64

/** Of the whole a fifth is strangers', up to 64 places are members', the rest is clients'. One address has half of a kind's places. */
export function placesOf(whole: number): Places {
  const strangers = Math.max(1, Math.min(MOST_STRANGERS, Math.floor(whole / 5)))
  const members = Math.min(KEPT_FOR_MEMBERS, Math.floor(whole / 4))
  const clients = Math.max(1, whole - strangers - members)
  const half = (places: number) => Math.min(places, Math.max(LEAST_OF_ONE_ADDRESS, Math.ceil(places / 2)))
  return {
    strangers,
    strangersOfOneAddress: half(strangers),
    clients,
    clientsOfOneAddress: half(clients),
  }
}

export type ConnectionKind = 'stranger' | 'client' | 'member'

/** It has proved who it is. False: there is no place for one more client; the caller refuses it. */
export type Proven = (kind: 'client' | 'member') => boolean

interface Connection {
  readonly raw: Socket
  readonly address: string
  /** What requests come on: under TLS another socket, once the handshake is over. */
  socket: Socket | undefined
  kind: ConnectionKind
  /** It speaks WebSocket now, or is on its way there: no answer of HTTP is understood any more. */
  upgraded: boolean
  /** Requests that have come and are not answered yet: a client may send several at once. */
  asking: number
  deadline: Timer | undefined
}

interface OfAddress {
  readonly strangers: Set<Connection>
  clients: number
}

export interface ConnectionsPorts {
  readonly clock: Clock
  readonly refusals: RefusalLog
  readonly places: Places
}

export class Connections {
  readonly #ports: ConnectionsPorts
  readonly #bySocket = new WeakMap<Duplex, Connection>()
  /** Connections whose TLS handshake is under way, by the two ends' addresses. */
  readonly #shaking = new Map<string, Connection>()
  /** In the order in which they became strangers. */
  readonly #strangers = new Set<Connection>()
  readonly #byAddress = new Map<string, OfAddress>()
  #clients = 0
  #members = 0

  constructor(ports: ConnectionsPorts) {
    this.#ports = ports
  }

  /** For metrics. */
  counts(): Readonly<Record<ConnectionKind, number>> {
    return { stranger: this.#strangers.size, client: this.#clients, member: this.#members }
  }

  watch(server: HttpServer, isSecure: boolean): void {
    server.on('connection', (raw: Socket) => this.#come(raw, isSecure))
    // On a server with TLS 'connection' tells of the bare socket, and this of the one inside.
    if (isSecure) server.on('secureConnection', (socket: Socket) => this.#secured(socket))
  }

  #come(raw: Socket, isSecure: boolean): void {
    const connection: Connection = {
      raw,
      address: addressOf(raw),
      socket: isSecure ? undefined : raw,
      kind: 'stranger',
      upgraded: false,
      asking: 0,
      deadline: undefined,
    }
    const ends = endsOf(raw)
    if (isSecure) this.#shaking.set(ends, connection)
    this.#bySocket.set(raw, connection)
    raw.on('error', () => raw.destroy())
    raw.once('close', () => {
      if (this.#shaking.get(ends) === connection) this.#shaking.delete(ends)
      this.#left(connection)
    })
    this.#becomeStranger(connection, STRANGER_MS)
  }

  #secured(socket: Socket): void {
    const ends = endsOf(socket)
    const connection = this.#shaking.get(ends)
    this.#shaking.delete(ends)
    // It is gone already.
    if (connection === undefined) return void socket.destroy()
    connection.socket = socket
    this.#bySocket.set(socket, connection)
  }

  // ---- what becomes of a connection

  /** A request's head has come: what follows may take longer, as long as it goes on. */
  asked(socket: Duplex): void {
    const connection = this.#bySocket.get(socket)
    if (connection === undefined) return
    connection.asking++
    if (connection.kind === 'stranger') this.#arm(connection, ANSWER_MS)
  }

  /** Nothing is being answered any more: whoever it was has to prove itself anew with the next request. */
  answered(socket: Duplex): void {
    const connection = this.#bySocket.get(socket)
    if (connection === undefined || --connection.asking > 0) return
    if (connection.raw.destroyed || connection.upgraded) return
    this.#left(connection)
    this.#becomeStranger(connection, IDLE_MS + IDLE_SLACK_MS)
  }

  upgraded(socket: Duplex): void {
    const connection = this.#bySocket.get(socket)
    if (connection !== undefined) connection.upgraded = true
  }

  /** For the door that has seen its proof. */
  proven(socket: Duplex, kind: 'client' | 'member'): boolean {
    const connection = this.#bySocket.get(socket)
    // It is gone, or not ours to count.
    if (connection === undefined || connection.kind === kind) return true
    if (connection.raw.destroyed) return true
    if (kind === 'client' && !this.#hasPlace(connection)) return false
    this.#left(connection)
    connection.kind = kind
    if (kind === 'member') this.#members++
    else {
      this.#clients++
      this.#ofAddress(connection.address).clients++
    }
    return true
  }

  #hasPlace({ address }: Connection): boolean {
    const { places, refusals } = this.#ports
    const whole = this.#clients >= places.clients
    if (!whole && this.#ofAddress(address).clients < places.clientsOfOneAddress) return true
    refusals.note('port', whole ? 'clients-full' : 'address-full', 'a client found no place', {
      address,
      places: whole ? places.clients : places.clientsOfOneAddress,
    })
    return false
  }

  // ---- strangers

  #becomeStranger(connection: Connection, patience: number): void {
    connection.kind = 'stranger'
    const { strangers } = this.#ofAddress(connection.address)
    this.#strangers.add(connection)
    strangers.add(connection)
    this.#arm(connection, patience)
    const { places } = this.#ports
    if (strangers.size > places.strangersOfOneAddress) this.#giveWay(strangers, 'address-gave-way')
    else if (this.#strangers.size > places.strangers) this.#giveWay(this.#strangers, 'stranger-gave-way')
  }

  #arm(connection: Connection, patience: number): void {
    connection.deadline?.cancel()
    connection.deadline = this.#ports.clock.after(patience, () => this.#tooLate(connection), { ref: false })
  }

  /** Law 2: the one that came first. */
  #giveWay(among: ReadonlySet<Connection>, reason: string): void {
    const [oldest] = among as Set<Connection>
    if (oldest === undefined) return
    this.#ports.refusals.note(
      'port',
      reason,
      'a connection that had not said who it is gave way to another one',
      {
        address: oldest.address,
      },
    )
    this.#destroy(oldest)
  }

  #tooLate(connection: Connection): void {
    this.#ports.refusals.note(
      'port',
      'silent',
      'a connection was closed that did not say in time who it is',
      {
        address: connection.address,
      },
    )
    const { socket, upgraded } = connection
    if (socket === undefined || upgraded || connection.asking > 0 || !socket.writable)
      this.#destroy(connection)
    else endRefused(socket, TOO_LATE, this.#ports.clock)
  }

  #destroy(connection: Connection): void {
    connection.socket?.destroy()
    connection.raw.destroy()
    this.#left(connection)
  }

  // ---- counting

  #ofAddress(address: string): OfAddress {
    const known = this.#byAddress.get(address)
    if (known !== undefined) return known
    const fresh = { strangers: new Set<Connection>(), clients: 0 }
    this.#byAddress.set(address, fresh)
    return fresh
  }

  /** Its place is free. */
  #left(connection: Connection): void {
    connection.deadline?.cancel()
    const { address, kind } = connection
    const of = this.#ofAddress(address)
    if (kind === 'stranger' && this.#strangers.delete(connection)) of.strangers.delete(connection)
    else if (kind === 'member') this.#members--
    else if (kind === 'client') {
      this.#clients--
      of.clients--
    }
    // Whatever happens to it next, it is not counted twice.
    connection.kind = 'stranger'
    if (of.clients === 0 && of.strangers.size === 0) this.#byAddress.delete(address)
  }
}

const TOO_LATE_BODY =
  '{"code":"BAD_REQUEST","message":"The request did not come whole in time.","retryable":false,"outcome":"not-applied"}\n'
const TOO_LATE = `HTTP/1.1 408 Request Timeout\r\ncontent-type: application/json\r\ncontent-length: ${TOO_LATE_BODY.length}\r\nConnection: close\r\n\r\n${TOO_LATE_BODY}`

/** Of IPv6 the network: who has one address has the 2^64 of it. */
export function addressOf({ remoteAddress = 'unknown' }: Socket): string {
  const address = remoteAddress.replace(/^::ffff:(?=[0-9.]+$)/i, '')
  if (!address.includes(':')) return address
  const [head = '', tail] = address.split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const groups = tail === undefined ? left : [...left, ...zeros(8 - left.length - right.length), ...right]
  return `${groups.slice(0, 4).join(':')}::/64`
}

const zeros = (count: number): string[] => Array.from({ length: Math.max(0, count) }, () => '0')

const endsOf = (socket: Socket): string =>
  `${socket.remoteAddress} ${socket.remotePort} ${socket.localAddress} ${socket.localPort}`
