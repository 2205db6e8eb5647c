// Driver: owns a member and its directory in this process: the lock of the directory, the ports of the real world, and the store
// that the user holds. When its state has to be built anew it is closed and opened again, and the store goes on over it.

import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { uptime } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { type Clock, Emitter, seededRandom, systemClock } from '@latchkey/base'
import { ClientStore } from '@latchkey/client'
import { classicHome, KvMachine, memoryLevelHome, type RowHome } from '@latchkey/kv'
import type { LockPort } from '@latchkey/lock'
import { CLIENTS_PATH, LatchkeyError } from '@latchkey/protocol'
import { MemoryDisk } from '@latchkey/raft/memory'
import { lockDirectory, nodeFileSystem } from '@latchkey/raft/wal'
import { ClientDoor } from '../member/client-door.js'
import { Member } from '../member/member.js'
import { Readiness } from '../member/readiness.js'
import { type Right, rightsOf } from '../member/rights.js'
import { localDial } from './local-link.js'
import { MembersGate } from './members-gate.js'
import type { Settings } from './options.js'
import type { OwnServer } from './server.js'

type Ends = {
  /** This member is gone; another one may come in its place. */
  gone: undefined
  failed: LatchkeyError
}

const newId = () => randomBytes(16).toString('hex')

/** Where a member's things are: made once, also when the member is opened again. */
interface Ground {
  readonly home: RowHome
  readonly fs: ReturnType<typeof nodeFileSystem>
  readonly dir: string
  release(): Promise<void>
}

export class OpenedMember {
  readonly store: ClientStore
  readonly clock: Clock
  readonly #settings: Settings
  readonly #ground: Ground
  readonly #ends = new Emitter<Ends>()
  readonly #clients: ClientDoor
  readonly #gate: MembersGate
  #server: OwnServer | undefined
  #current: Member | undefined
  #readiness: Readiness | undefined
  #failed: LatchkeyError | undefined
  #closing = false

  static async open(settings: Settings): Promise<OpenedMember> {
    const clock = systemClock(uptime)
    const ground = await takeGround(settings, clock)
    const opened = new OpenedMember(settings, ground, clock)
    try {
      await opened.#boot()
      return opened
    } catch (error) {
      opened.#closing = true
      await opened.store.close().catch(() => {})
      throw error
    }
  }

  constructor(settings: Settings, ground: Ground, clock: Clock) {
    this.#settings = settings
    this.#ground = ground
    this.clock = clock
    this.#gate = new MembersGate(settings, clock)
    this.#clients = new ClientDoor({
      clock,
      logger: settings.logger,
      cluster: settings.cluster,
      clusterId: () => this.#current?.replica.clusterId ?? '',
      auth: settings.auth,
      defer: (run) => void setImmediate(run),
      seat: (tell, allowed) => this.#member().seat(tell, allowed),
    })
    this.store = new ClientStore({
      route: {
        dial: localDial({ current: () => this.#current, onGone: (run) => this.#ends.on('gone', run) }),
      },
      clock,
      random: seededRandom(newId()),
      newId,
      as: settings.as,
      sessionLife: settings.sessionLife,
      drift: settings.drift,
      closeHook: () => this.#close(),
    })
  }

  get current(): Member | undefined {
    return this.#current
  }

  /** What programs in other languages hold their locks through, under ids of their own. */
  get locks(): LockPort {
    return this.store.lockPort
  }

  isReady(): boolean {
    return this.#readiness?.ready ?? false
  }

  /** For gauges. */
  figures(): Readonly<Record<string, number>> {
    const member = this.#current
    if (member === undefined) return { client_connections: this.#clients.connections }
    const { raft } = member.replica.node
    return {
      client_connections: this.#clients.connections,
      seats: member.seats,
      revision: member.kv.revision,
      log_entries: raft.lastIndex - raft.firstIndex + 1,
      is_leader: raft.role === 'leader' ? 1 : 0,
    }
  }

  /** Settles when the member has stopped by itself. */
  get failed(): Promise<LatchkeyError> {
    return new Promise((resolve) => {
      if (this.#failed !== undefined) resolve(this.#failed)
      else this.#ends.on('failed', resolve)
    })
  }

  rightsOf(token: string | undefined): readonly Right[] | undefined {
    return rightsOf(this.#settings.auth, token)
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const path = request.url?.split('?')[0]
    if (path === CLIENTS_PATH && this.#current !== undefined)
      return this.#clients.upgrade(request, socket, head)
    if (!this.#gate.upgrade(request, socket, head))
      socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n')
  }

  /** The member's own port, where nobody else offers one. */
  serveAt(server: OwnServer): void {
    this.#server = server
  }

  #member(): Member {
    if (this.#current === undefined)
      throw new LatchkeyError('ERR_NO_LEADER', 'This member is being opened anew.')
    return this.#current
  }

  async #boot(): Promise<void> {
    const {
      id,
      members,
      join: joins,
      electionTimeout,
      heartbeat,
      snapshot,
      maxInFlightBytes,
      logger,
    } = this.#settings
    const { home, fs, dir } = this.#ground
    const { clock } = this
    const member = await Member.open(
      { id, members, join: joins, electionTimeout, heartbeat, snapshot, maxInFlightBytes },
      {
        fs,
        dir,
        clock,
        random: seededRandom(newId()),
        defer: (run) => void setImmediate(run),
        logger,
        newId,
        transport: (owner) => this.#gate.transport(owner),
        machine: (hooks) => new KvMachine({ home, clock, logger, ...hooks }),
        rebuild: () => void setImmediate(() => void this.#rebuild()),
      },
    )
    this.#current = member
    this.#readiness = new Readiness(member, clock)
    member.on('failed', (error) => this.#onFailed(error))
  }

  #onFailed(error: LatchkeyError): void {
    this.#failed = error
    this.#settings.logger.error('this member has stopped', { code: error.code, error: error.message })
    this.#ends.emit('failed', error)
  }

  /** The log, and with it the vote, stays; the state comes from the peers. */
  async #rebuild(): Promise<void> {
    if (this.#closing) return
    this.#settings.logger.warn('the state of this member is dropped and built anew from its peers')
    try {
      await this.#stopMember()
      await this.#ground.home.discard()
      await this.#boot()
    } catch (error) {
      this.#onFailed(
        error instanceof LatchkeyError
          ? error
          : new LatchkeyError('ERR_STORAGE_FAILED', String(error), { cause: error }),
      )
    }
  }

  async #stopMember(): Promise<void> {
    const member = this.#current
    this.#current = undefined
    this.#readiness?.close()
    this.#readiness = undefined
    this.#ends.emit('gone', undefined)
    await member?.close()
  }

  async #close(): Promise<void> {
    this.#closing = true
    this.#clients.close()
    await this.#stopMember().catch((error: unknown) =>
      this.#settings.logger.warn('closing was not clean', { error: String(error) }),
    )
    await this.#server?.close()
    await this.#ground.release()
  }
}

/** The directory is this process's alone from here on; nothing in it was touched before. */
async function takeGround({ dir }: Settings, clock: Clock): Promise<Ground> {
  if (dir === undefined) {
    return { home: memoryLevelHome(), fs: new MemoryDisk(), dir: 'log', release: async () => {} }
  }
  const lock = await lockDirectory(dir, clock)
  return {
    home: classicHome(join(dir, 'state')),
    fs: nodeFileSystem(),
    dir: join(dir, 'log'),
    release: () => lock.release(),
  }
}
