// Driver: owns every connection of one port. It knows which connections belong to strangers, clients and
// members, and limits how many each kind may have and how long a stranger may take to prove its identity.
//
// Laws:
//   1. A connection is a stranger's until it has proved that it is a client's or a member's.
//   2. Strangers have places of their own. When these places are full, the oldest stranger is closed, and the
//      newest stranger is never refused. Without this law: five thousand silent sockets fill the port, and a
//      member that has just lost its connection to the leader cannot connect any more.
//   3. Clients never take the places that are kept for members.
//   4. One address may use only a share of the strangers' places and of the clients' places. If an address
//      has more strangers, its own oldest stranger is closed. If an address has more clients, its next client
//      is refused, with the reason.
//   5. A stranger that has not proved its identity in STRANGER_MS is closed. While its request is being
//      answered, the stranger is not closed, and its time begins again at the end of the answer. An HTTP
//      connection counts as a client's only while a request is being answered.
//
// The address of a member proves nothing, because members on one machine share their address with all other
// processes. So a member's connection also begins as a stranger's. When the member has proved its identity,
// the connection gets a place that no other connection can take.

import type { Server as HttpServer } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Clock, endRefused, type RefusalLog, type Timer } from '@latchkey/base'
import { refusalText } from './problem-json.js'

/** In ms. A connection that has not proved its identity after this time is closed. */
export const STRANGER_MS = 5_000
/** In ms, how long an HTTP connection may be idle. Its answers say so. */
export const IDLE_MS = 15_000
/** In ms. An answer to a stranger must be read within this time. */
const ANSWER_MS = 60_000
/**
 * In ms. Added to the idle time that the client was told, so that a request in the last moment is still
 * answered.
 */
const IDLE_SLACK_MS = 1_000

/** How many connections each kind may have. */
export interface Places {
  readonly strangers: number
  readonly strangersOfOneAddress: number
  readonly clients: number
  readonly clientsOfOneAddress: number
}

/** How many connections each address may have, even if the limit of the port is small. */
const LEAST_OF_ONE_ADDRESS = 16
const MOST_STRANGERS = 2_000
const KEPT_FOR_MEMBERS = 64

/**
 * A fifth of all places is for strangers, up to 64 places are for members, and the rest is for clients. One
 * address may use half of the places of a kind.
 */
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

/**
 * Called when the connection has proved its identity. Returns false if there is no place for one more client.
 * The caller then refuses the client.
 */
export type Proven = (kind: 'client' | 'member') => boolean

interface Connection {
  readonly raw: Socket
  readonly address: string
  /**
   * The socket of the requests. With TLS, this is not the socket below TLS, but another one, which exists
   * after the TLS handshake.
   */
  socket: Socket | undefined
  kind: ConnectionKind
  /**
   * True if the connection speaks WebSocket, or is about to. Such a connection does not understand an HTTP
   * answer any more.
   */
  upgraded: boolean
  /** How many requests are not answered yet. A client may send several at once. */
  asking: number
  deadline: Timer | undefined
}

interface OfAddress {
  readonly strangers: Set<Connection>
  clients: number
}

export class Connections {
  readonly #clock: Clock
  readonly #refusals: RefusalLog
  readonly #places: Places
  readonly #bySocket = new WeakMap<Duplex, Connection>()
  /** Connections whose TLS handshake is under way, by the addresses of the two ends. */
  readonly #shaking = new Map<string, Connection>()
  /** The strangers. The oldest comes first. */
  readonly #strangers = new Set<Connection>()
  readonly #byAddress = new Map<string, OfAddress>()
  #clients = 0
  #members = 0

  constructor({ clock, refusals, places }: { clock: Clock; refusals: RefusalLog; places: Places }) {
    this.#clock = clock
    this.#refusals = refusals
    this.#places = places
  }

  /** For metrics. */
  counts(): Readonly<Record<ConnectionKind, number>> {
    return { stranger: this.#strangers.size, client: this.#clients, member: this.#members }
  }

  watch(server: HttpServer, isSecure: boolean): void {
    server.on('connection', (raw: Socket) => this.#come(raw, isSecure))
    // On a server with TLS, the event 'connection' gives the socket below TLS. The event 'secureConnection'
    // gives the socket inside TLS.
    if (isSecure) server.on('secureConnection', (socket: Socket) => this.#secured(socket))
  }

  #come(raw: Socket, isSecure: boolean): void {
    // A request may ask for another protocol. If this wish is ignored, Node's server gets the same connection
    // once more.
    if (this.#bySocket.has(raw)) return
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
    if (this.#bySocket.has(socket)) return
    const ends = endsOf(socket)
    const connection = this.#shaking.get(ends)
    this.#shaking.delete(ends)
    // The connection has already closed.
    if (connection === undefined) return void socket.destroy()
    connection.socket = socket
    this.#bySocket.set(socket, connection)
  }

  // ---- The kinds of a connection

  /** Called when the head of a request has arrived. Its body may take longer, if it makes progress. */
  asked(socket: Duplex): void {
    const connection = this.#bySocket.get(socket)
    if (connection === undefined) return
    connection.asking++
    if (connection.kind === 'stranger') this.#arm(connection, ANSWER_MS)
  }

  /** Called when no request is being answered any more. The next request has to prove its sender again. */
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

  /** Called by the code that has checked the proof of identity. */
  proven(socket: Duplex, kind: 'client' | 'member'): boolean {
    const connection = this.#bySocket.get(socket)
    // The connection has closed, or is not counted here.
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
    const [places, refusals] = [this.#places, this.#refusals]
    const whole = this.#clients >= places.clients
    if (!whole && this.#ofAddress(address).clients < places.clientsOfOneAddress) return true
    refusals.note('port', whole ? 'clients-full' : 'address-full', 'a client found no place', {
      address,
      places: whole ? places.clients : places.clientsOfOneAddress,
    })
    return false
  }

  // ---- Strangers

  #becomeStranger(connection: Connection, patience: number): void {
    connection.kind = 'stranger'
    const { strangers } = this.#ofAddress(connection.address)
    this.#strangers.add(connection)
    strangers.add(connection)
    this.#arm(connection, patience)
    const places = this.#places
    if (strangers.size > places.strangersOfOneAddress) this.#giveWay(strangers, 'address-gave-way')
    else if (this.#strangers.size > places.strangers) this.#giveWay(this.#strangers, 'stranger-gave-way')
  }

  #arm(connection: Connection, patience: number): void {
    connection.deadline?.cancel()
    connection.deadline = this.#clock.after(patience, () => this.#tooLate(connection), { ref: false })
  }

  /** Law 2: closes the oldest stranger. */
  #giveWay(among: ReadonlySet<Connection>, reason: string): void {
    const [oldest] = among as Set<Connection>
    if (oldest === undefined) return
    this.#refusals.note('port', reason, 'a connection that had not said who it is gave way to another one', {
      address: oldest.address,
    })
    this.#destroy(oldest)
  }

  #tooLate(connection: Connection): void {
    this.#refusals.note('port', 'silent', 'a connection was closed that did not say in time who it is', {
      address: connection.address,
    })
    const { socket, upgraded } = connection
    if (socket === undefined || upgraded || connection.asking > 0 || !socket.writable)
      this.#destroy(connection)
    else endRefused(socket, TOO_LATE, this.#clock)
  }

  #destroy(connection: Connection): void {
    connection.socket?.destroy()
    connection.raw.destroy()
    this.#left(connection)
  }

  // ---- Counting

  #ofAddress(address: string): OfAddress {
    const known = this.#byAddress.get(address)
    if (known !== undefined) return known
    const fresh = { strangers: new Set<Connection>(), clients: 0 }
    this.#byAddress.set(address, fresh)
    return fresh
  }

  /** Called when the connection has closed. Its place becomes free. */
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
    // From here on no code may count the connection once more.
    connection.kind = 'stranger'
    if (of.clients === 0 && of.strangers.size === 0) this.#byAddress.delete(address)
  }
}

const TOO_LATE = refusalText(408, 'BAD_REQUEST', 'The request did not come whole in time.')

/**
 * Returns the address. For IPv6 the result is the network of the address, because one user can use all 2^64
 * addresses of a network.
 */
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
