// Driver: opens a replica for any state machine, on a real disk, with real sockets and the system's clock.
// Latchkey's own store does not use this file, because the network port of the store also serves clients.

import { randomInt } from 'node:crypto'
import { uptime } from 'node:os'
import { join } from 'node:path'
import {
  type Clock,
  type Logger,
  newId,
  nextTurn,
  seededRandom,
  silentLogger,
  systemClock,
  Turns,
} from '@latchkey/base'
import { CAPS, LatchkeyError } from '@latchkey/protocol'
import type { MemberId } from '../core/types.js'
import { type Listener, listen, type MemberTls, MemberNetwork } from '../net/index.js'
import { lockDirectory, nodeFileSystem } from '../wal/index.js'
import type { StateMachine } from './state-machine-interface.js'
import type { Outcome } from './callers-waiting-for-entries.js'
import { frameRecord } from './entry-commands.js'
import { Replica } from './replica.js'
import type { ReplicaOptions, ReplicaPorts, TransportOwner } from './replica-types.js'

export interface RaftOptions {
  readonly id: MemberId
  readonly dir: string
  /**
   * The addresses of all members, such as { a: 'ws://127.0.0.1:7001' }. Without `members` the cluster has
   * only this member, and no port is opened.
   */
  readonly members?: Readonly<Record<MemberId, string>>
  readonly machine: StateMachine
  readonly join?: boolean
  readonly cluster?: string
  readonly token?: string
  readonly tls?: MemberTls
  readonly electionTimeout?: number
  readonly heartbeat?: number
  readonly logger?: Logger
}

export interface OpenedRaft {
  readonly replica: Replica
  /**
   * Appends a command to the replicated log, and resolves with the state machine's answer. The state machine
   * splits an entry into commands with `splitRecords`.
   */
  submit(command: Uint8Array): Promise<Uint8Array>
  /** Resolves once this member has applied everything that was committed before the call. */
  read(): Promise<void>
  close(): Promise<void>
}

/** In ms. */
const HAND_OVER_MS = 2_000

export async function openRaft(options: RaftOptions): Promise<OpenedRaft> {
  const clock = systemClock(uptime)
  const lock = await lockDirectory(options.dir, clock)
  const opened = [() => lock.release()]
  try {
    const turns = new Turns(nextTurn)
    const memberPort = new MemberPort(options, clock, turns)
    const replica = await Replica.open(
      replicaOptions(options),
      replicaPorts(options, clock, turns, memberPort),
    )
    opened.push(() => replica.close())
    await memberPort.listen()
    return {
      replica,
      submit: (command) => submit(replica, command),
      read: () => read(replica),
      close: async () => {
        await replica.handOver(HAND_OVER_MS)
        await Promise.all([replica.close(), memberPort.close()])
        await lock.release()
      },
    }
  } catch (error) {
    for (const close of opened.reverse()) await close().catch(() => {})
    throw error
  }
}

function replicaOptions({
  id,
  members,
  join: joins,
  electionTimeout,
  heartbeat,
}: RaftOptions): ReplicaOptions {
  return {
    id,
    members,
    join: joins ?? false,
    electionTimeout: electionTimeout ?? 1000,
    heartbeat: heartbeat ?? 100,
    snapshot: { everyEntries: 50_000, everyBytes: 16 * 1024 * 1024 },
    maxInFlightBytes: 2 * CAPS.entryBytes,
  }
}

function replicaPorts(
  { dir, machine, logger = silentLogger }: RaftOptions,
  clock: Clock,
  turns: Turns,
  memberPort: MemberPort,
): ReplicaPorts {
  const random = seededRandom(newId())
  const transport = (owner: TransportOwner) => memberPort.open(owner)
  return {
    fs: nodeFileSystem(),
    dir: join(dir, 'log'),
    clock,
    random,
    defer: turns.work,
    logger,
    machine,
    newId,
    transport,
  }
}

class MemberPort {
  readonly #options: RaftOptions
  readonly #clock: Clock
  readonly #turns: Turns
  #network: MemberNetwork | undefined
  #listener: Listener | undefined

  constructor(options: RaftOptions, clock: Clock, turns: Turns) {
    this.#options = options
    this.#clock = clock
    this.#turns = turns
  }

  open(owner: TransportOwner): MemberNetwork {
    const { id, cluster = 'raft', token, tls, logger = silentLogger } = this.#options
    const boot = randomInt(1, 2 ** 47)
    const tokens = token === undefined ? [] : [token]
    this.#network = new MemberNetwork({
      clock: this.#clock,
      random: seededRandom(boot),
      defer: this.#turns.end,
      logger,
      self: () => ({ cluster, id, boot, group: 0, level: 1, tokens, ...owner.identity() }),
      admit: (info) => owner.admit(info),
      missing: (id) => owner.missing(id),
      tls,
    })
    return this.#network
  }

  async listen(): Promise<void> {
    const { id, members, tls } = this.#options
    const url = members?.[id]
    if (url === undefined || this.#network === undefined) return
    const { hostname, port } = new URL(url)
    this.#listener = await listen(this.#network, {
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port),
      tls,
    })
  }

  async close(): Promise<void> {
    await this.#listener?.close()
  }
}

function submit({ node }: Replica, command: Uint8Array): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    node.submit(frameRecord(command), (outcome) => {
      if (outcome.type === 'applied') resolve(outcome.answer.bytes)
      else reject(errorOf(outcome))
    })
  })
}

function errorOf(outcome: Exclude<Outcome, { type: 'applied' }>): LatchkeyError {
  if (outcome.type === 'unknown') return new LatchkeyError('ERR_OUTCOME_UNKNOWN')
  if (outcome.reason === 'busy') return new LatchkeyError('ERR_BUSY')
  if (outcome.reason === 'too-large') return new LatchkeyError('ERR_TOO_LARGE')
  return outcome.reason === 'closed'
    ? new LatchkeyError('ERR_CLOSED')
    : new LatchkeyError('ERR_NO_LEADER', 'This member does not lead: ask the leader.')
}

function read({ node }: Replica): Promise<void> {
  return new Promise((resolve, reject) => {
    node.read((outcome) => (outcome.ok ? resolve() : reject(new LatchkeyError('ERR_NO_LEADER'))))
  })
}
