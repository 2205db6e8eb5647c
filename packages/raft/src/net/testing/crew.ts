// Test: helpers to start members on real sockets, and to end one as a killed process ends.

import { ConnectionErrors, type Logger, seededRandom, systemClock } from '@latchkey/base'
import type { Socket } from 'node:net'
import { uptime } from 'node:os'
import type { Message } from '../../core/types.js'
import type { Self } from '../handshake-frames.js'
import { MemberNetwork } from '../member-network.js'
import { type Listener, listen } from '../members-only-server.js'
import type { NetOptions, Timing } from '../network-settings.js'
import type { PeerEvent, RefusedEvent } from '../transport-interface.js'
import { freePort } from './ports.js'

export const clock = systemClock(uptime)

const QUICK: Timing = {
  connect: 2_000,
  hello: 300,
  ping: 100,
  missed: 20,
  linger: 300,
  lived: 0,
  farewell: 200,
  backoff: { least: 5, most: 50 },
}

interface Line {
  readonly level: keyof Logger
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>> | undefined
}

export interface Member {
  readonly id: string
  readonly network: MemberNetwork
  readonly listener: Listener
  readonly url: string
  readonly messages: Message[]
  readonly apps: { readonly from: string; readonly bytes: Buffer }[]
  /** 'up b', 'gone b', 'dead b'. */
  readonly events: string[]
  readonly peers: PeerEvent[]
  readonly refused: RefusedEvent[]
  readonly log: Line[]
  readonly errors: ConnectionErrors
  /** The accepted sockets. */
  readonly sockets: Set<Socket>
  self: Self
  /**
   * Does what the operating system does when a process dies: it closes the listening socket, then resets
   * every connection.
   */
  kill(): Promise<void>
}

let boots = 100

export interface Options extends Partial<Pick<NetOptions, 'admit' | 'tls' | 'caps'>> {
  readonly self?: Partial<Self>
  readonly timing?: Partial<Timing>
  readonly port?: number
}

export class Crew {
  readonly #members: Member[] = []

  async start(id: string, options: Options = {}): Promise<Member> {
    const log: Line[] = []
    const line =
      (level: keyof Logger): Logger['info'] =>
      (message, fields) =>
        void log.push({ level, message, fields })
    const identity: Self = {
      cluster: 'latchkey',
      clusterId: '',
      id,
      incarnation: `of ${id}`,
      boot: ++boots,
      group: 0,
      level: 1,
      tokens: [],
      ...options.self,
    }
    const logger = { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
    const errors = new ConnectionErrors({ clock, logger })
    const network: MemberNetwork = new MemberNetwork({
      clock,
      random: seededRandom(id),
      defer: (run) => void setImmediate(run),
      logger,
      errors,
      self: () => member.self,
      admit: options.admit,
      tls: options.tls,
      caps: options.caps,
      timing: { ...QUICK, ...options.timing },
    })
    const port = options.port ?? (await freePort())
    const listener = await listen(network, { host: '127.0.0.1', port, tls: options.tls })
    const member: Member = {
      id,
      network,
      listener,
      url: `${options.tls === undefined ? 'ws' : 'wss'}://127.0.0.1:${listener.port}`,
      messages: [],
      apps: [],
      events: [],
      peers: [],
      refused: [],
      log,
      errors,
      sockets: new Set(),
      self: identity,
      kill: () => kill(member),
    }
    record(member)
    this.#members.push(member)
    return member
  }

  async close(): Promise<void> {
    await Promise.all(this.#members.map((member) => member.kill()))
  }
}

function record(member: Member): void {
  const { network } = member
  network.on('message', (message) => member.messages.push(message))
  network.on('app', ({ from, bytes }) => member.apps.push({ from, bytes: Buffer.from(bytes) }))
  network.on('peer', (event) => {
    member.events.push(`${event.state} ${event.id}`)
    member.peers.push(event)
  })
  network.on('refused', (event) => member.refused.push(event))
  member.listener.server.on('connection', (socket: Socket) => {
    member.sockets.add(socket)
    socket.on('close', () => member.sockets.delete(socket))
  })
}

async function kill(member: Member): Promise<void> {
  const closed = member.listener.close()
  for (const socket of member.sockets) socket.resetAndDestroy()
  await Promise.all([member.network.close(), closed])
}

/** Makes each member dial all others. */
export function introduce(...members: Member[]): void {
  for (const one of members) {
    const others = members.filter((other) => other !== one)
    one.network.setPeers(Object.fromEntries(others.map(({ id, url }) => [id, { url }])))
  }
}

export async function until(what: () => boolean, ms = 20_000): Promise<void> {
  const end = clock.now() + ms
  while (!what()) {
    if (clock.now() > end) throw new Error(`not within ${ms} ms: ${String(what)}`)
    await pause(1)
  }
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => void clock.after(ms, resolve))

const envelope = (from: Member, to: Member) => ({ group: 0, from: from.id, to: to.id, term: 3 }) as const

export const heartbeat = (from: Member, to: Member, round: number): Message => ({
  ...envelope(from, to),
  type: 'heartbeat',
  commit: 1,
  round,
})

export const append = (from: Member, to: Member, index: number, data: Uint8Array): Message => ({
  ...envelope(from, to),
  type: 'append',
  prevIndex: index - 1,
  prevTerm: 1,
  commit: 0,
  entries: [{ index, term: 3, time: 1, kind: 'commands', data }],
  round: 0,
})
