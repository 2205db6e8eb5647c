// Driver: a replica on a real disk, real sockets and the system's clock, for anyone's state machine. Latchkey's own store
// composes the same parts itself, because it shares its port with clients.

import { randomBytes, randomInt } from 'node:crypto'
import { uptime } from 'node:os'
import { join } from 'node:path'
import { type Logger, seededRandom, silentLogger, systemClock } from '@latchkey/base'
import { CAPS, LatchkeyError } from '@latchkey/protocol'
import type { MemberId } from '../core/types.js'
import { type Listener, listen, type MemberTls, MemberNetwork } from '../net/index.js'
import { lockDirectory, nodeFileSystem } from '../wal/index.js'
import type { StateMachine } from './machine.js'
import type { Outcome } from './proposals.js'
import { frameRecord } from './records.js'
import { Replica } from './replica.js'

export interface RaftOptions {
  readonly id: MemberId
  readonly dir: string
  /** Addresses of all members, such as { a: 'ws://127.0.0.1:7001' }; left out: a cluster of one, and no port is opened. */
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
  /** A command for the log, as the machine reads it with `splitRecords`; resolves with the machine's answer. */
  submit(command: Uint8Array): Promise<Uint8Array>
  /** Resolves once everything committed before the call is applied here. */
  read(): Promise<void>
  close(): Promise<void>
}

const newId = () => randomBytes(16).toString('hex')

export async function openRaft(options: RaftOptions): Promise<OpenedRaft> {
  const { id, dir, members, machine, logger = silentLogger } = options
  const clock = systemClock(uptime)
  const defer = (run: () => void) => void setImmediate(run)
  const lock = await lockDirectory(dir, clock)
  let network: MemberNetwork | undefined
  let listener: Listener | undefined
  try {
    const replica = await Replica.open(
      {
        id,
        members,
        join: options.join ?? false,
        electionTimeout: options.electionTimeout ?? 1000,
        heartbeat: options.heartbeat ?? 100,
        snapshot: { everyEntries: 50_000, everyBytes: 16 * 1024 * 1024 },
        maxInFlightBytes: 2 * CAPS.entryBytes,
      },
      {
        fs: nodeFileSystem(),
        dir: join(dir, 'log'),
        clock,
        random: seededRandom(newId()),
        defer,
        logger,
        machine,
        newId,
        transport: (owner) => {
          const boot = randomInt(1, 2 ** 47)
          const self = {
            cluster: options.cluster ?? 'raft',
            id,
            boot,
            group: 0,
            level: 1,
            token: options.token,
          }
          network = new MemberNetwork({
            clock,
            random: seededRandom(boot),
            defer,
            logger,
            self: () => ({ ...self, ...owner.identity() }),
            admit: (info) => owner.admit(info),
            tls: options.tls,
          })
          return network
        },
      },
    )
    const url = members?.[id]
    if (url !== undefined && network !== undefined) {
      const { hostname, port } = new URL(url)
      listener = await listen(network, {
        host: hostname.replace(/^\[|\]$/g, ''),
        port: Number(port),
        tls: options.tls,
      })
    }
    return {
      replica,
      submit: (command) => submit(replica, command),
      read: () => read(replica),
      close: async () => {
        await replica.handOver(2_000)
        await Promise.all([replica.close(), listener?.close()])
        await lock.release()
      },
    }
  } catch (error) {
    await lock.release()
    throw error
  }
}

function submit({ node }: Replica, command: Uint8Array): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    node.submit(frameRecord(command), (outcome) => {
      if (outcome.type === 'applied') resolve(outcome.bytes)
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
