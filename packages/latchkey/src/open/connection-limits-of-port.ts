// Driver: owns every connection of one port. This file knows which connections belong to clients, to members,
// or still to strangers, and limits each of these three kinds.
//
// Laws:
//   1. Each connection begins as a stranger's: nobody knows yet whether a client or a member opened it.
//   2. At most `ConnectionLimits.strangers` connections belong to strangers. Beyond this limit, the oldest of
//      these connections is closed, and the newest is never refused. Without this law: five thousand silent
//      sockets fill the port, and a member that has just lost its connection to the leader cannot connect
//      again.
//   3. Clients never use the connections that are reserved for members.
//   4. One address may have only a share of the strangers' connections and of the clients' connections.
//      Beyond its share of strangers' connections, the oldest such connection of the address is closed.
//      Beyond its share of clients' connections, a client is refused with the reason.
//   5. A connection is closed if its stranger has not proved an identity within STRANGER_MS. With an
//      unanswered request, the limit is ANSWER_MS. An HTTP connection counts as a client's while a request of
//      the client is unanswered. After the answer, the connection is a stranger's again.
//
// The address of a member proves nothing, because several members and other processes can run on one machine.
// So a member's connection also begins as a stranger's. After the member has proved its identity, these laws
// never close its connection.

import type { Server as HttpServer } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Clock, endRefused, type RefusalLog, type Timer } from '@latchkey/base'
import { refusalText } from './problem-json.js'

/** In ms. A connection is closed if its client or member has not proved its identity within this time. */
const STRANGER_MS = 5_000
/**
 * In ms. The Keep-Alive header promises that an HTTP connection without a request stays open for this time.
 */
export const IDLE_MS = 15_000
/** In ms. A stranger's connection is closed if its request is not answered within this time. */
const ANSWER_MS = 60_000
/**
 * In ms. The member closes an idle HTTP connection this much later than IDLE_MS. Without this delay, a client
 * sends a request just before the end of IDLE_MS, and the connection closes before the request arrives.
 */
const IDLE_SLACK_MS = 1_000

interface ConnectionLimits {
  readonly strangers: number
  readonly strangersOfOneAddress: number
  readonly clients: number
  readonly clientsOfOneAddress: number
}

/**
 * The limit of one address is half of the port's limit, or this number if half is less. The limit of one
 * address is never more than the port's limit.
 */
const LEAST_OF_ONE_ADDRESS = 16
const MOST_STRANGERS = 2_000
const KEPT_FOR_MEMBERS = 64

/**
 * A fifth of the connections, but at most MOST_STRANGERS, is for strangers, whose identity is not known yet.
 * Up to 64 are reserved for members, and the others are for clients. One address may use half of the places
 * for strangers, and half of the places for clients.
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

export type Proven = (kind: 'client' | 'member') => boolean

interface Connection {
  readonly raw: Socket
  readonly address: string
  /**
   * The socket with the decrypted bytes, which exists only after the TLS handshake. Without TLS, this is
   * `raw`.
   */
  socket: Socket | undefined
  kind: ConnectionKind
  /** True after a request for a WebSocket. The member must not write an HTTP answer to such a connection. */
  upgraded: boolean
  /** How many HTTP requests of this connection are not answered yet. */
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
  /** The connections in the TLS handshake, by the addresses and ports of both ends. */
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
    // With TLS, the event 'connection' gives the socket with the encrypted bytes, and 'secureConnection' the
    // socket with the decrypted bytes.
    if (isSecure) server.on('secureConnection', (socket: Socket) => this.#secured(socket))
  }

  #come(raw: Socket, isSecure: boolean): void {
    // After an upgrade request that the member ignores, Node's server gets the same connection a second time
    // (upgrade-header-removal.ts).
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
    // The connection was closed during its TLS handshake.
    if (connection === undefined) return void socket.destroy()
    connection.socket = socket
    this.#bySocket.set(socket, connection)
  }

  /** Called when the head of a request has arrived, perhaps before its body. */
  asked(socket: Duplex): void {
    const connection = this.#bySocket.get(socket)
    if (connection === undefined) return
    connection.asking++
    if (connection.kind === 'stranger') this.#arm(connection, ANSWER_MS)
  }

  /**
   * When all requests of the connection are answered, the connection is a stranger's again. The sender of the
   * next request must prove its identity again.
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
   * Called after other code has checked a token, a certificate or a member's proof. Returns false if the port
   * has no room for one more client.
   */
  proven(socket: Duplex, kind: 'client' | 'member'): boolean {
    const connection = this.#bySocket.get(socket)
    // Undefined: the connection has closed, or another server owns it.
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
    // Now the connection is a stranger's, but #strangers does not contain the connection. So a second call of
    // #left for this connection changes no count.
    connection.kind = 'stranger'
    if (of.clients === 0 && of.strangers.size === 0) this.#byAddress.delete(address)
  }
}

const TOO_LATE = refusalText(408, 'BAD_REQUEST', 'The whole request did not arrive in time.')

/**
 * For IPv6, connections are counted by the network (the first 64 bits), because one user can have all 2^64
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
