// Driver: owns every connection of one port. This file knows which connections belong to clients, to members,
// or still to strangers, and limits each of these three kinds.
//
// Laws:
//   1. Each connection begins as a stranger's: nobody knows yet whether a client or a member opened it.
//   2. At most `ConnectionLimits.strangers` connections belong to strangers. When one stranger more connects,
//      the oldest stranger is closed, and the newest is never refused. Without this law: five thousand silent
//      sockets fill the port, and a member that has just lost its connection to the leader cannot connect
//      again.
//   3. Clients never use the connections that are reserved for members.
//   4. One address may have only a share of the strangers' connections and of the clients' connections. If an
//      address has more strangers, the oldest stranger of this address is closed. If an address has more
//      clients, its next client is refused, with the reason.
//   5. A stranger that has not proved its identity within STRANGER_MS is closed. While the member answers a
//      request of the stranger, the stranger may stay longer (ANSWER_MS). An HTTP connection counts as a
//      client's only while the member answers one of its requests. After the answer, the connection is a
//      stranger's again.
//
// The address of a member proves nothing, because several members and other processes can run on one machine.
// So a member's connection also begins as a stranger's. When the member has proved its identity, its
// connection does not count as a stranger's any more, and these laws never close the connection.

import type { Server as HttpServer } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Clock, endRefused, type RefusalLog, type Timer } from '@latchkey/base'
import { refusalText } from './problem-json.js'

/** In ms. A connection whose client or member has not proved its identity within this time is closed. */
const STRANGER_MS = 5_000
/**
 * In ms. The Keep-Alive header of each answer promises that the HTTP connection stays open for this time
 * without a request. The member closes the idle connection IDLE_SLACK_MS later.
 */
export const IDLE_MS = 15_000
/**
 * In ms. If a stranger's request is not answered, or its answer is not read, within this time, the connection
 * is closed.
 */
const ANSWER_MS = 60_000
/**
 * In ms. The member closes an idle HTTP connection this much later than IDLE_MS. Without this delay, a client
 * sends a request just before IDLE_MS ends, and the member closes the connection before the request arrives.
 */
const IDLE_SLACK_MS = 1_000

/** How many connections of strangers and of clients the port may have, in all and from one address. */
interface ConnectionLimits {
  readonly strangers: number
  readonly strangersOfOneAddress: number
  readonly clients: number
  readonly clientsOfOneAddress: number
}

/**
 * One address may have at least this many strangers and this many clients, even if half of the port's limit
 * is less, but never more than the whole limit of the port.
 */
const LEAST_OF_ONE_ADDRESS = 16
const MOST_STRANGERS = 2_000
const KEPT_FOR_MEMBERS = 64

/**
 * Divides the connections of a port. A fifth is for strangers. Up to 64 connections are reserved for members,
 * and the other connections are for clients. One address may have half of the strangers and half of the
 * clients.
 */
export function limitsOf(whole: number): ConnectionLimits {
  const strangers = Math.max(1, Math.min(MOST_STRANGERS, Math.floor(whole / 5)))
  const members = Math.min(KEPT_FOR_MEMBERS, Math.floor(whole / 4))
  const clients = Math.max(1, whole - strangers - members)
  const half = (limits: number) => Math.min(limits, Math.max(LEAST_OF_ONE_ADDRESS, Math.ceil(limits / 2)))
  return {
    strangers,
    strangersOfOneAddress: half(strangers),
    clients,
    clientsOfOneAddress: half(clients),
  }
}

type ConnectionKind = 'stranger' | 'client' | 'member'

/**
 * Called when a client or a member has proved its identity. Returns false if the port has no room for one
 * more client. The caller then refuses the client.
 */
export type Proven = (kind: 'client' | 'member') => boolean

interface Connection {
  readonly raw: Socket
  readonly address: string
  /**
   * The socket on which requests arrive. With TLS, `raw` carries the encrypted bytes, and `socket` exists
   * only after the TLS handshake.
   */
  socket: Socket | undefined
  kind: ConnectionKind
  /**
   * True if the connection speaks WebSocket, or has asked for WebSocket. The member must not write an HTTP
   * answer to such a connection.
   */
  upgraded: boolean
  /**
   * How many requests of this connection are not answered yet. A client may send several requests at once.
   */
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
  readonly #limits: ConnectionLimits
  readonly #bySocket = new WeakMap<Duplex, Connection>()
  /** The connections whose TLS handshake is in progress, by the addresses of client and member. */
  readonly #shaking = new Map<string, Connection>()
  /** The connections of strangers, the oldest first. */
  readonly #strangers = new Set<Connection>()
  readonly #byAddress = new Map<string, OfAddress>()
  #clients = 0
  #members = 0

  constructor({ clock, refusals, limits }: { clock: Clock; refusals: RefusalLog; limits: ConnectionLimits }) {
    this.#clock = clock
    this.#refusals = refusals
    this.#limits = limits
  }

  counts(): Readonly<Record<ConnectionKind, number>> {
    return { stranger: this.#strangers.size, client: this.#clients, member: this.#members }
  }

  watch(server: HttpServer, isSecure: boolean): void {
    server.on('connection', (raw: Socket) => this.#come(raw, isSecure))
    // On a server with TLS, the event 'connection' gives the socket with the encrypted bytes. The event
    // 'secureConnection' gives the socket with the decrypted bytes.
    if (isSecure) server.on('secureConnection', (socket: Socket) => this.#secured(socket))
  }

  #come(raw: Socket, isSecure: boolean): void {
    // A client may ask in a request for another protocol than HTTP/1.1. If the member ignores that, it gives
    // the same connection to Node's server a second time (upgrade-header-removal.ts).
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
    this.#countAsStranger(connection, STRANGER_MS)
  }

  #secured(socket: Socket): void {
    if (this.#bySocket.has(socket)) return
    const ends = endsOf(socket)
    const connection = this.#shaking.get(ends)
    this.#shaking.delete(ends)
    // A connection that was closed during its TLS handshake is no longer known here.
    if (connection === undefined) return void socket.destroy()
    connection.socket = socket
    this.#bySocket.set(socket, connection)
  }

  /**
   * Counts a request of the connection as soon as the head of the request has arrived. The body may still be
   * on its way.
   */
  asked(socket: Duplex): void {
    const connection = this.#bySocket.get(socket)
    if (connection === undefined) return
    connection.asking++
    if (connection.kind === 'stranger') this.#arm(connection, ANSWER_MS)
  }

  /**
   * Counts one request of the connection as answered. If no other request is open, the connection is a
   * stranger's again, and the next request must prove its sender.
   */
  answered(socket: Duplex): void {
    const connection = this.#bySocket.get(socket)
    if (connection === undefined || --connection.asking > 0) return
    if (connection.raw.destroyed || connection.upgraded) return
    this.#left(connection)
    this.#countAsStranger(connection, IDLE_MS + IDLE_SLACK_MS)
  }

  upgraded(socket: Duplex): void {
    const connection = this.#bySocket.get(socket)
    if (connection !== undefined) connection.upgraded = true
  }

  /**
   * Counts the connection as a client's or a member's, after other code has checked a token, a certificate or
   * a member's proof. Returns false if the client must be refused, because the port has no room for one more
   * client.
   */
  proven(socket: Duplex, kind: 'client' | 'member'): boolean {
    const connection = this.#bySocket.get(socket)
    // Without a connection object, the connection has closed, or another server owns it.
    if (connection === undefined || connection.kind === kind) return true
    if (connection.raw.destroyed) return true
    if (kind === 'client' && !this.#hasRoom(connection)) return false
    this.#left(connection)
    connection.kind = kind
    if (kind === 'member') this.#members++
    else {
      this.#clients++
      this.#ofAddress(connection.address).clients++
    }
    return true
  }

  #hasRoom({ address }: Connection): boolean {
    const [limits, refusals] = [this.#limits, this.#refusals]
    const whole = this.#clients >= limits.clients
    if (!whole && this.#ofAddress(address).clients < limits.clientsOfOneAddress) return true
    refusals.note(
      'port',
      whole ? 'clients-full' : 'address-full',
      'a client was refused: a limit of client connections is reached',
      {
        address,
        places: whole ? limits.clients : limits.clientsOfOneAddress,
      },
    )
    return false
  }

  #countAsStranger(connection: Connection, patience: number): void {
    connection.kind = 'stranger'
    const { strangers } = this.#ofAddress(connection.address)
    this.#strangers.add(connection)
    strangers.add(connection)
    this.#arm(connection, patience)
    const limits = this.#limits
    if (strangers.size > limits.strangersOfOneAddress) this.#closeOldest(strangers, 'address-gave-way')
    else if (this.#strangers.size > limits.strangers) this.#closeOldest(this.#strangers, 'stranger-gave-way')
  }

  #arm(connection: Connection, patience: number): void {
    connection.deadline?.cancel()
    connection.deadline = this.#clock.after(patience, () => this.#tooLate(connection), { ref: false })
  }

  /** Closes the oldest stranger among these connections (laws 2 and 4). */
  #closeOldest(among: ReadonlySet<Connection>, reason: string): void {
    const [oldest] = among as Set<Connection>
    if (oldest === undefined) return
    this.#refusals.note(
      'port',
      reason,
      'a connection that had not proved its identity was closed to make room for another one',
      {
        address: oldest.address,
      },
    )
    this.#destroy(oldest)
  }

  #tooLate(connection: Connection): void {
    this.#refusals.note('port', 'silent', 'a connection was closed: it had not proved its identity in time', {
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

  #ofAddress(address: string): OfAddress {
    const known = this.#byAddress.get(address)
    if (known !== undefined) return known
    const fresh = { strangers: new Set<Connection>(), clients: 0 }
    this.#byAddress.set(address, fresh)
    return fresh
  }

  /** Removes a connection from the counts of its kind, because it has closed or changes its kind. */
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
    // With this kind, and without a place in #strangers, the connection is in no count. So a second call for
    // the connection changes no count.
    connection.kind = 'stranger'
    if (of.clients === 0 && of.strangers.size === 0) this.#byAddress.delete(address)
  }
}

const TOO_LATE = refusalText(408, 'BAD_REQUEST', 'The whole request did not arrive in time.')

/**
 * Returns the address by which connections are counted. For IPv6, this is the network (the first 64 bits),
 * because one user can have all 2^64 addresses of a network.
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
