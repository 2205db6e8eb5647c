// Driver: owns the requests of one port that came over HTTP and are not answered yet: how much of a connection is heard in one turn of
// the event loop, how many requests of it wait, and that each of them ends with its connection.
//
// Laws
//   1  A connection has at most CAPS.unansweredRequests requests that wait for their answers. Who sends more is cut off.
//   2  Of one connection one request is begun in a turn, and SLICE bytes are heard at once; all connections together have TURN_MS of a
//      turn. What is beyond waits for another turn, unparsed, and the connections take turns.
//   3  Each request that was begun, or waits for it, is told its end ('close' of its response) at the latest when its connection ends.
//
// Without 1 and 2 the story is: a stranger sends 20,000 requests in one breath over each of four connections. Node reads them all in
// one turn, each is begun at once, and for ten seconds the member hears no client and no other member. Without 3: answers that Node
// keeps back, because an earlier one of their connection is not written yet, tell nothing when that connection is destroyed; who
// counts calls in flight counts them for ever, and a graceful stop never ends.
//
// Node's server hears a connection by its 'data' listener. We take that listener off and call it ourselves, with as much as may be
// heard; then nothing else of a connection is different. A chunk of 64 KiB has room for 2,600 requests: heard at once, 30 ms.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Clock, Defer, RefusalLog } from '@latchkey/base'
import { CAPS } from '@latchkey/protocol'
import { addressOf } from './connections.js'

/** What HTTP may take of a turn before the rest waits. */
const TURN_MS = 5
/** At most 160 requests, or a large part of a head. */
const SLICE = 4 * 1024

export interface HttpRequestsPorts {
  readonly clock: Pick<Clock, 'now'>
  readonly refusals: RefusalLog
  /** Runs it in the next turn of the event loop. */
  readonly nextTurn: Defer
  /** A request has come, and counts from now on. */
  came(request: IncomingMessage, response: ServerResponse): void
  /** Its turn has come. */
  begin(request: IncomingMessage, response: ServerResponse): void
}

type Arrival = readonly [request: IncomingMessage, response: ServerResponse]
type Hear = (bytes: Buffer) => void

interface Connection {
  readonly socket: Socket
  /** Node's. */
  readonly hear: Hear
  readonly unanswered: Set<ServerResponse>
  /** Requests whose turn has not come. */
  readonly waiting: Arrival[]
  /** What was read and is not heard yet. */
  unheard: Buffer[]
  /** Node has stopped it until its answers are read, and lets it go on itself. */
  isStopped: boolean
  isCutOff: boolean
  readonly read: Hear
  readonly resumed: () => void
}

export class HttpRequests {
  readonly #ports: HttpRequestsPorts
  readonly #connections = new WeakMap<Duplex, Connection>()
  /** Those that have something left for another turn, in the order of their turns. */
  readonly #waiting = new Set<Connection>()
  /** When HTTP was first heard in this turn; undefined: not yet. */
  #turnBegan: number | undefined

  constructor(ports: HttpRequestsPorts) {
    this.#ports = ports
  }

  /** For a connection that Node's server has just taken. */
  watch(socket: Socket): void {
    const [hear] = socket.listeners('data') as Hear[]
    // Nothing could bound what such a connection asks for. An error would end the process: this runs in an event of the server.
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

  #read(connection: Connection, bytes: Buffer): void {
    connection.unheard.push(bytes)
    if (this.#waiting.has(connection)) connection.socket.pause()
    else this.#hear(connection)
  }

  /** By Node, or by us before this. */
  #resumed(connection: Connection): void {
    if (!connection.isStopped || connection.socket.isPaused()) return
    connection.isStopped = false
    this.#hear(connection)
  }

  /** It is a WebSocket's now. Returns all that was read of it behind its request. */
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
    // It was cut off in the midst of what is being heard.
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

  /** A turn of ours begins with the first that asks. */
  #hasTime(): boolean {
    const { clock, nextTurn } = this.#ports
    const now = clock.now()
    if (this.#turnBegan !== undefined) return now - this.#turnBegan < TURN_MS
    this.#turnBegan = now
    nextTurn(() => this.#turn())
    return true
  }

  /** One request of each that waits, and what else of it may be heard. */
  #turn(): void {
    this.#turnBegan = undefined
    for (const connection of [...this.#waiting]) {
      if (!this.#hasTime()) return
      this.#waiting.delete(connection)
      const next = connection.waiting.shift()
      // Whose turn it was comes behind all others.
      if (connection.waiting.length > 0) this.#waiting.add(connection)
      if (next !== undefined) this.#ports.begin(...next)
      this.#hear(connection)
    }
  }

  /** As long as there is time. */
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

  /** Nothing is answered any more: an answer now would be taken for that of an earlier request. */
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

  /** A mistake of ours, or of Node, ends this connection only. */
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
