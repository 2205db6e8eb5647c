// Driver: owns the HTTP requests of one port that are not answered yet. This file limits the waiting requests
// of a connection, and the bytes that are parsed in one turn of the event loop.
//
// Laws:
//   1. A connection has at most CAPS.unansweredRequests unanswered requests. The member closes a connection
//      that sends more.
//   2. In one turn of the event loop, the port begins requests and parses slices of SLICE bytes until TURN_MS
//      has passed. The other requests and bytes wait for the next turn. A turn begins at most one waiting
//      request of each connection.
//   3. When a connection closes, each response of the connection emits 'close', unless the response has
//      emitted 'close' before.
//
// Without laws 1 and 2: a stranger sends 20,000 requests together over each of four connections. Node parses
// and begins all these requests in one turn. For ten seconds, the member reads nothing from clients or
// members. Without law 3: Node keeps an answer back until all earlier answers of the connection are written.
// If the connection is destroyed earlier, the later response emits no event. The count of open calls then
// never falls to zero, and a graceful stop never ends.
//
// Node's server reads a connection with a 'data' listener. This file removes that listener and calls the
// listener with as many bytes as may be parsed now. A chunk of 64 KiB has room for 2,600 requests and takes
// 30 ms to parse.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Clock, Defer, RefusalLog } from '@latchkey/base'
import { CAPS } from '@latchkey/protocol'
import { addressOf } from './connection-limits-of-port.js'
import { plainHead } from './upgrade-header-removal.js'

/** In ms. HTTP requests may use this much of one turn of the event loop. */
const TURN_MS = 5
/** In bytes: up to 160 requests, or a large part of a request's head. */
const SLICE = 4 * 1024

interface HttpRequestsPorts {
  readonly clock: Pick<Clock, 'now'>
  readonly refusals: RefusalLog
  readonly nextTurn: Defer
  /** Called when the head of a request has arrived. The request may have to wait until `begin` is called. */
  came(request: IncomingMessage, response: ServerResponse): void
  /** Handles the request. */
  begin(request: IncomingMessage, response: ServerResponse): void
}

type Arrival = readonly [request: IncomingMessage, response: ServerResponse]
type Parse = (bytes: Buffer) => void

interface Connection {
  readonly socket: Socket
  /** The 'data' listener that Node's server had added. */
  readonly parse: Parse
  readonly unanswered: Set<ServerResponse>
  readonly waiting: Arrival[]
  unparsed: Buffer[]
  /**
   * True after Node has paused the connection, because the client does not read its answers. Node also
   * resumes the connection.
   */
  isStopped: boolean
  isCutOff: boolean
  readonly read: Parse
  readonly resumed: () => void
}

export class HttpRequests {
  readonly #ports: HttpRequestsPorts
  readonly #connections = new WeakMap<Duplex, Connection>()
  /**
   * The connections with requests or bytes that wait for the next turn of the event loop. The first
   * connection is served first.
   */
  readonly #waiting = new Set<Connection>()
  /** The time at which HTTP bytes were first parsed in this turn. Undefined if none were parsed yet. */
  #turnBegan: number | undefined

  constructor(ports: HttpRequestsPorts) {
    this.#ports = ports
  }

  /** Node's server has just accepted this connection. */
  watch(socket: Socket): void {
    const [parse] = socket.listeners('data') as Parse[]
    // A later version of Node may add no such listener. The connection is then closed, because its bytes
    // cannot be limited. An error thrown here would end the process.
    if (parse === undefined) return this.#refuse(socket)
    const connection: Connection = {
      socket,
      parse,
      unanswered: new Set(),
      waiting: [],
      unparsed: [],
      isStopped: false,
      isCutOff: false,
      read: (bytes) => this.#read(connection, bytes),
      resumed: () => this.#resumed(connection),
    }
    this.#connections.set(socket, connection)
    socket.off('data', parse)
    socket.on('data', connection.read)
    socket.on('resume', connection.resumed)
    socket.once('close', () => this.#left(connection))
  }

  /**
   * Handles a request with an Upgrade header for another protocol than WebSocket as a plain HTTP request.
   * `take` gives the connection to Node's server a second time. Node's server then reads the request without
   * its Upgrade header. If an earlier request of the connection is still unanswered, the connection is closed
   * instead, because Node would never write the second answer. No known client sends an Upgrade header before
   * it has all earlier answers.
   */
  again(request: IncomingMessage, socket: Duplex, head: Buffer, take: () => void): void {
    const before = this.#connections.get(socket)
    if (before === undefined || before.unanswered.size > 0) return void socket.destroy()
    const bytes = Buffer.concat([plainHead(request), this.upgraded(socket, head)])
    take()
    const connection = this.#connections.get(socket)
    if (connection !== undefined) this.#read(connection, bytes)
  }

  #read(connection: Connection, bytes: Buffer): void {
    connection.unparsed.push(bytes)
    if (this.#waiting.has(connection)) connection.socket.pause()
    else this.#parse(connection)
  }

  /**
   * Called after each 'resume' event. If Node itself had paused the connection, the waiting bytes are parsed
   * now.
   */
  #resumed(connection: Connection): void {
    if (!connection.isStopped || connection.socket.isPaused()) return
    connection.isStopped = false
    this.#parse(connection)
  }

  /** The connection has become a WebSocket. Returns all bytes after the request. */
  upgraded(socket: Duplex, head: Buffer): Buffer {
    const connection = this.#connections.get(socket)
    if (connection === undefined) return head
    const { unparsed } = connection
    this.#connections.delete(socket)
    socket.off('data', connection.read)
    socket.off('resume', connection.resumed)
    if (unparsed.length === 0) return head
    connection.unparsed = []
    return Buffer.concat([head, ...unparsed])
  }

  come(request: IncomingMessage, response: ServerResponse): void {
    const connection = this.#connections.get(request.socket)
    if (connection === undefined || connection.isCutOff) return
    const { unanswered, waiting } = connection
    if (unanswered.size >= CAPS.unansweredRequests) return this.#cutOff(connection)
    unanswered.add(response)
    response.once('close', () => unanswered.delete(response))
    this.#ports.came(request, response)
    if (unanswered.size === 1 && this.#hasTime()) return this.#ports.begin(request, response)
    waiting.push([request, response])
    this.#waiting.add(connection)
    this.#hasTime()
  }

  /** Whether HTTP may use more time in this turn. The first call in a turn starts the measurement. */
  #hasTime(): boolean {
    const { clock, nextTurn } = this.#ports
    const now = clock.now()
    if (this.#turnBegan !== undefined) return now - this.#turnBegan < TURN_MS
    this.#turnBegan = now
    nextTurn(() => this.#turn())
    return true
  }

  #turn(): void {
    this.#turnBegan = undefined
    for (const connection of [...this.#waiting]) {
      if (!this.#hasTime()) return
      this.#waiting.delete(connection)
      const next = connection.waiting.shift()
      if (connection.waiting.length > 0) this.#waiting.add(connection)
      if (next !== undefined) this.#ports.begin(...next)
      this.#parse(connection)
    }
  }

  #parse(connection: Connection): void {
    const { socket, parse } = connection
    while (connection.unparsed.length > 0) {
      if (connection.isStopped || connection.isCutOff || socket.destroyed) return
      if (!this.#hasTime()) {
        this.#waiting.add(connection)
        return void socket.pause()
      }
      if (socket.isPaused()) socket.resume()
      try {
        parse(firstSlice(connection.unparsed))
      } catch (error) {
        return this.#fail(connection, error)
      }
      connection.isStopped = socket.isPaused()
    }
  }

  /**
   * Closes the connection. This version of Node reads HTTP in another way, so the bytes of the connection
   * cannot be limited.
   */
  #refuse(socket: Socket): void {
    const reason =
      'a connection was closed: this version of Node reads HTTP in another way; use a version that the README names'
    this.#ports.refusals.note('http', 'unbounded', reason, { address: addressOf(socket) })
    socket.destroy()
  }

  #cutOff(connection: Connection): void {
    const { socket } = connection
    connection.isCutOff = true
    const reason = 'a connection was closed: it sent too many requests before it had read its answers'
    this.#ports.refusals.note('http', 'pipelined', reason, {
      address: addressOf(socket),
      most: CAPS.unansweredRequests,
    })
    socket.destroy()
  }

  /**
   * Closes only the connection with the error. Otherwise the error would end the process, with all other
   * connections.
   */
  #fail({ socket }: Connection, error: unknown): void {
    this.#ports.refusals.note(
      'http',
      'failed',
      'a connection was closed: there was an error while its bytes were parsed',
      {
        address: addressOf(socket),
        reason: String(error),
      },
    )
    socket.destroy()
  }

  #left(connection: Connection): void {
    this.#waiting.delete(connection)
    connection.waiting.length = 0
    connection.unparsed = []
    for (const response of connection.unanswered) {
      response.destroy()
      response.emit('close')
    }
  }
}

function firstSlice(chunks: Buffer[]): Buffer {
  const chunk = chunks.shift() as Buffer
  if (chunk.length <= SLICE) return chunk
  chunks.unshift(chunk.subarray(SLICE))
  return chunk.subarray(0, SLICE)
}
