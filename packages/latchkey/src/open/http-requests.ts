// Driver: owns the HTTP requests of one port that are not answered yet. It limits the bytes of a connection
// that are parsed in one turn of the event loop, and the number of its waiting requests. It also ends each
// request with its connection.
//
// Laws:
//   1. A connection has at most CAPS.unansweredRequests requests that wait for their answers. A connection
//      with more requests is closed.
//   2. In one turn, one request of a connection is begun and SLICE bytes of it are parsed; all connections
//      together get TURN_MS of a turn. The other bytes wait for another turn, and the connections take turns.
//   3. Each request that was begun or waits gets its end ('close' of its response) at the latest when its
//      connection ends.
//
// Without laws 1 and 2: a stranger sends 20,000 requests at once over each of four connections. Node parses
// all these requests in one turn and begins each of them at once, and for ten seconds the member reads
// nothing from clients or members. Without law 3: Node keeps an answer back while an earlier one of its
// connection is not written. When that connection is destroyed, the later response emits no event. A count of
// the calls under way then never falls to zero, and a graceful stop never ends.
//
// Node's server reads a connection by a 'data' listener. This file removes that listener and calls it with as
// many bytes as may be parsed. Nothing else about the connection is changed. A chunk of 64 KiB has room for
// 2,600 requests and takes 30 ms to parse.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Clock, Defer, RefusalLog } from '@latchkey/base'
import { CAPS } from '@latchkey/protocol'
import { addressOf } from './connections-of-port.js'
import { plainHead } from './ignored-upgrade-requests.js'

/** In ms, how much time HTTP may use in one turn before the rest waits. */
const TURN_MS = 5
/** In bytes: at most 160 requests, or a large part of the head of a request. */
const SLICE = 4 * 1024

interface HttpRequestsPorts {
  readonly clock: Pick<Clock, 'now'>
  readonly refusals: RefusalLog
  /** Runs a function in the next turn of the event loop. */
  readonly nextTurn: Defer
  /** Called when a request has arrived. The request counts from now on. */
  came(request: IncomingMessage, response: ServerResponse): void
  /** The request is begun. */
  begin(request: IncomingMessage, response: ServerResponse): void
}

type Arrival = readonly [request: IncomingMessage, response: ServerResponse]
type Hear = (bytes: Buffer) => void

interface Connection {
  readonly socket: Socket
  /** The listener of Node's server. */
  readonly hear: Hear
  readonly unanswered: Set<ServerResponse>
  /** The requests that have arrived and were not begun yet. */
  readonly waiting: Arrival[]
  /** The bytes that were received and were not parsed yet. */
  unheard: Buffer[]
  /**
   * True if Node has paused the connection until its answers are read. Node itself resumes the connection.
   */
  isStopped: boolean
  isCutOff: boolean
  readonly read: Hear
  readonly resumed: () => void
}

export class HttpRequests {
  readonly #ports: HttpRequestsPorts
  readonly #connections = new WeakMap<Duplex, Connection>()
  /** The connections with requests or bytes that wait for another turn, in the order of their turns. */
  readonly #waiting = new Set<Connection>()
  /** The time at which the first HTTP bytes of this turn were parsed. Undefined if none were parsed. */
  #turnBegan: number | undefined

  constructor(ports: HttpRequestsPorts) {
    this.#ports = ports
  }

  /** Takes a connection that Node's server has just accepted. */
  watch(socket: Socket): void {
    const [hear] = socket.listeners('data') as Hear[]
    // This connection cannot be limited, so it is closed. An error here would end the process, because this
    // code runs in an event of the server.
    if (hear === undefined) return this.#refuse(socket)
    const connection: Connection = {
      socket,
      hear,
      unanswered: new Set(),
      waiting: [],
      unheard: [],
      isStopped: false,
      isCutOff: false,
      read: (bytes) => this.#read(connection, bytes),
      resumed: () => this.#resumed(connection),
    }
    this.#connections.set(socket, connection)
    socket.off('data', hear)
    socket.on('data', connection.read)
    socket.on('resume', connection.resumed)
    socket.once('close', () => this.#left(connection))
  }

  /**
   * Handles a request that asks for another protocol as a plain request. `take` gives the connection to
   * Node's server again, which reads the same request without the wish for another protocol. This is
   * impossible if earlier requests of the connection wait for their answers, because Node would never write
   * the answer. No known client sends such requests.
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
    connection.unheard.push(bytes)
    if (this.#waiting.has(connection)) connection.socket.pause()
    else this.#hear(connection)
  }

  /** Called when a paused connection is resumed. Node or this file may have paused it. */
  #resumed(connection: Connection): void {
    if (!connection.isStopped || connection.socket.isPaused()) return
    connection.isStopped = false
    this.#hear(connection)
  }

  /**
   * Called when the connection has become a WebSocket. Returns all bytes that were received after its
   * request.
   */
  upgraded(socket: Duplex, head: Buffer): Buffer {
    const connection = this.#connections.get(socket)
    if (connection === undefined) return head
    const { unheard } = connection
    this.#connections.delete(socket)
    socket.off('data', connection.read)
    socket.off('resume', connection.resumed)
    if (unheard.length === 0) return head
    connection.unheard = []
    return Buffer.concat([head, ...unheard])
  }

  come(request: IncomingMessage, response: ServerResponse): void {
    const connection = this.#connections.get(request.socket)
    // The connection was closed while its bytes were being parsed.
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

  /** Whether there is time left in this turn. The first connection that asks begins the turn. */
  #hasTime(): boolean {
    const { clock, nextTurn } = this.#ports
    const now = clock.now()
    if (this.#turnBegan !== undefined) return now - this.#turnBegan < TURN_MS
    this.#turnBegan = now
    nextTurn(() => this.#turn())
    return true
  }

  /** Begins one request of each waiting connection, and parses further bytes of it. */
  #turn(): void {
    this.#turnBegan = undefined
    for (const connection of [...this.#waiting]) {
      if (!this.#hasTime()) return
      this.#waiting.delete(connection)
      const next = connection.waiting.shift()
      // The next requests of this connection come after those of all other connections.
      if (connection.waiting.length > 0) this.#waiting.add(connection)
      if (next !== undefined) this.#ports.begin(...next)
      this.#hear(connection)
    }
  }

  /** Parses bytes of the connection as long as there is time. */
  #hear(connection: Connection): void {
    const { socket, hear } = connection
    while (connection.unheard.length > 0) {
      if (connection.isStopped || connection.isCutOff || socket.destroyed) return
      if (!this.#hasTime()) {
        this.#waiting.add(connection)
        return void socket.pause()
      }
      if (socket.isPaused()) socket.resume()
      try {
        hear(firstSlice(connection.unheard))
      } catch (error) {
        return this.#fail(connection, error)
      }
      connection.isStopped = socket.isPaused()
    }
  }

  /**
   * Closes the connection. No further answer is written, because the client would take such an answer for the
   * answer to an earlier request.
   */
  #refuse(socket: Socket): void {
    const reason =
      'a connection was closed: this version of Node reads HTTP in another way; use one that README names'
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
   * Closes this connection after an error of this project or of Node, so that the error ends no other
   * connection.
   */
  #fail({ socket }: Connection, error: unknown): void {
    this.#ports.refusals.note('http', 'failed', 'a connection was closed: it could not be heard', {
      address: addressOf(socket),
      reason: String(error),
    })
    socket.destroy()
  }

  #left(connection: Connection): void {
    this.#waiting.delete(connection)
    connection.waiting.length = 0
    connection.unheard = []
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
