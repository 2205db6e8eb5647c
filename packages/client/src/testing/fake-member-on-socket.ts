// Driver: a member's port for clients on a real socket of the loopback interface, with the trivial state
// machine behind it, for tests.

import type { AddressInfo } from 'node:net'
import {
  CLIENTS_PATH,
  type Hello,
  type LinkReply,
  type LinkRequest,
  READ,
  type Welcome,
  decodeHello,
  decodeRequests,
  encodeAnswer,
  encodeReplies,
  encodeWelcome,
  errorAnswer,
  okAnswer,
} from '@latchkey/protocol'
import { afterEach } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import { Machine } from './fake-state-machine.js'

export interface SocketMember {
  readonly url: string
  readonly machine: Machine
  readonly sockets: Set<WebSocket>
  readonly hellos: Hello[]
  /** The number of received frames, and of the messages in these frames. */
  readonly stats: { frames: number; messages: number }
  /** Makes the member send nothing any more, not even a pong, and read nothing. */
  readonly freeze: () => void
  close(): Promise<void>
}

interface SocketMemberOptions {
  readonly welcome?: (hello: Hello) => Welcome
  readonly clusterId?: string
  /** Addresses of the other members that this member reports. */
  readonly others?: readonly string[]
  readonly port?: number
}

/** Called once in a test file. All members that a test opens are closed after the test. */
export function socketMembers() {
  const open: { close(): unknown }[] = []
  afterEach(async () => {
    for (const one of open.splice(0).reverse()) await one.close()
  })
  const opened = <T extends { close(): unknown }>(one: T): T => {
    open.push(one)
    return one
  }
  return { opened, member: async (options?: SocketMemberOptions) => opened(await socketMember(options)) }
}

async function socketMember(options: SocketMemberOptions = {}): Promise<SocketMember> {
  const clusterId = options.clusterId ?? 'cluster-1'
  const server = new WebSocketServer({
    host: '127.0.0.1',
    port: options.port ?? 0,
    path: CLIENTS_PATH,
    perMessageDeflate: false,
  })
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`
  const machine = new Machine()
  const sockets = new Set<WebSocket>()
  const hellos: Hello[] = []
  const stats = { frames: 0, messages: 0 }
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.once('message', (frame: Buffer) => {
      const hello = decodeHello(frame)
      if (typeof hello === 'string') return socket.close(1002)
      hellos.push(hello)
      const welcome = options.welcome?.(hello) ?? { ok: true, version: 1, clusterId }
      socket.send(encodeWelcome(welcome))
      if (!welcome.ok) return socket.close(1008)
      serve(socket, [url, ...(options.others ?? [])], clusterId, machine, stats)
    })
  })
  return {
    url,
    machine,
    sockets,
    hellos,
    stats,
    freeze: () => {
      for (const socket of sockets) (socket as unknown as { _socket: { pause(): void } })._socket.pause()
    },
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.terminate()
        server.close(() => resolve())
      }),
  }
}

function serve(
  socket: WebSocket,
  urls: readonly string[],
  clusterId: string,
  machine: Machine,
  stats: SocketMember['stats'],
): void {
  let replies: LinkReply[] = []
  const tell = (reply: LinkReply) => {
    replies.push(reply)
    if (replies.length > 1) return
    setImmediate(() => {
      for (const frame of encodeReplies(replies)) socket.send(frame)
      replies = []
    })
  }
  const members = urls.map((one, at) => [`m${at}`, one, 'voter'] as const)
  const electionTimeout = 1_000
  tell({
    kind: 'leader',
    id: 'm0',
    url: urls[0],
    term: 1,
    role: 'leader',
    self: 'm0',
    clusterId,
    members,
    electionTimeout,
  })
  socket.on('message', (frame: Buffer) => {
    const requests = decodeRequests(frame)
    if (typeof requests === 'string') return socket.close(1002, requests.slice(0, 100))
    stats.frames++
    stats.messages += requests.length
    for (const request of requests) answer(request, machine, tell)
  })
}

function answer(request: LinkRequest, machine: Machine, tell: (reply: LinkReply) => void): void {
  if (request.kind === 'command') {
    const { session, number, done, body } = request
    const applied = machine.apply(session, number, done, Buffer.from(body), Math.floor(performance.now()))
    const time = applied.fromTable ? 0 : machine.time
    tell({ kind: 'answer', id: request.id, time, never: false, answer: encodeAnswer(applied.answer) })
  } else if (request.kind === 'read') {
    const { read } = request
    const value = read[0] === READ.get ? machine.data.get(Buffer.from(read[1]).toString()) : undefined
    const answer = value === undefined ? okAnswer(null) : okAnswer(Buffer.from(value))
    tell({ kind: 'answer', id: request.id, time: machine.time, never: false, answer })
  } else if (request.kind === 'admin') {
    tell({ kind: 'answer', id: request.id, time: 0, never: false, answer: errorAnswer('ERR_FORBIDDEN') })
  }
}
