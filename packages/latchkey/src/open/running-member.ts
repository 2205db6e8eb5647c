// Driver: owns the member that runs in this process. To rebuild the member's state, this file closes the
// member and opens the member again. The stores continue with the new member object.

import { type Defer, Emitter, newId, seededRandom, type Turns } from '@latchkey/base'
import { KvMachine } from '@latchkey/kv'
import { LatchkeyError, type StoreEvents } from '@latchkey/protocol'
import type { ReplicaPorts } from '@latchkey/raft'
import { ClusterLog } from '../member/cluster-changes-log.js'
import { Member } from '../member/member.js'
import { Readiness } from '../member/readiness.js'
import type { RequestTracer } from '../member/request-tracer.js'
import { latchkeyVersion } from '../member/package-version.js'
import type { LocalMember } from './in-process-link.js'
import { refuseUnprovenMembers, whyNoMembers } from './choose-member-proof.js'
import type { MemberWorld } from './member-clock-disk-and-network.js'
import type { Settings } from './options.js'
import type { Storage } from './member-storage.js'

type Changes = {
  gone: undefined
  /** Emitted when a member serves its stores, or when certainly no member will serve them any more. */
  settled: undefined
  failed: LatchkeyError
}

interface Ports {
  readonly storage: Storage
  readonly world: MemberWorld
  readonly turns: Turns
  /** Returns the present settings, because certificates and tokens can change while the member runs. */
  readonly settings: () => Settings
  readonly transport: ReplicaPorts['transport']
  readonly tracer: RequestTracer | undefined
  readonly sendAway: () => void
  readonly quorum: (event: StoreEvents['quorum']) => void
}

export class CurrentMember implements LocalMember {
  readonly #ports: Ports
  readonly #changes = new Emitter<Changes>()
  #member: Member | undefined
  #readiness: Readiness | undefined
  #log: ClusterLog | undefined
  #failure: LatchkeyError | undefined
  #closing = false
  #rebuilding: Promise<void> | undefined

  constructor(ports: Ports) {
    this.#ports = ports
  }

  get member(): Member | undefined {
    return this.#member
  }

  /** Undefined while no member serves its stores. */
  current(): Member | undefined {
    return this.#isAsking ? undefined : this.#member
  }

  failure(): LatchkeyError | undefined {
    return this.#failure
  }

  get isReady(): boolean {
    return this.#readiness?.ready ?? false
  }

  onGone(run: () => void): () => void {
    return this.#changes.on('gone', run)
  }

  onSettled(run: () => void): () => void {
    return this.#changes.on('settled', run)
  }

  get failed(): Promise<LatchkeyError> {
    return new Promise((resolve) => {
      if (this.#failure !== undefined) resolve(this.#failure)
      else this.#changes.on('failed', resolve)
    })
  }

  /**
   * True while the member asks unknown addresses for the id of their cluster. The user may have given
   * addresses of another cluster. Until each address has answered, or was silent for too long, the member
   * serves no client.
   */
  get #isAsking(): boolean {
    return this.#member?.replica.isAsking === true
  }

  async open(): Promise<void> {
    const { settings, storage, transport, turns, world } = this.#ports
    const { rows, fs, dir, note, diskUse } = storage
    const { clock, nextTurn } = world
    const { logger } = settings()
    // Calls `run` at the end of this turn of the event loop, after all messages of this turn are sent.
    const later = (run: () => void) => turns.work(() => turns.end(run))
    const member = await Member.open(settings(), {
      fs,
      dir,
      version: latchkeyVersion(),
      clock,
      random: seededRandom(newId()),
      defer: turns.work,
      logger,
      newId,
      transport,
      machine: (hooks) => new KvMachine({ storage: rows, clock, logger, nextTurn, later, ...hooks }),
      rebuild: () => this.#rebuildLater(later),
      whyNoMembers: () => whyNoMembers(settings()),
      note,
      asked: () => this.#serve(),
      diskUse,
      tracer: this.#ports.tracer,
    })
    this.#member = member
    refuseUnprovenMembers(settings(), hasOthers(member))
    member.on('failed', (error) => this.#onFailed(error))
    const { failure } = member.replica.node
    if (failure?.code === 'ERR_WRONG_CLUSTER') throw failure
    if (failure !== undefined) this.#onFailed(failure)
    else this.#serve()
  }

  /**
   * Lets the stores use the member. Called when the member is open, and again after the check of unknown
   * addresses (`#isAsking`).
   */
  #serve(): void {
    if (this.#member === undefined || this.#isAsking || this.#failure !== undefined) return
    const { settings, world, quorum } = this.#ports
    this.#readiness ??= new Readiness(this.#member, world.clock)
    this.#log ??= new ClusterLog(this.#member.replica, world.clock, settings().logger, quorum)
    this.#changes.emit('settled', undefined)
  }

  /**
   * Called when the member has failed and does not continue. All requests end immediately with this error,
   * and clients connect to other members.
   */
  #onFailed(error: LatchkeyError): void {
    if (this.#failure !== undefined) return
    this.#failure = error
    const { logger } = this.#ports.settings()
    logger.error('this member has stopped', { code: error.code, error: error.message })
    this.#stopServing()
    this.#changes.emit('settled', undefined)
    this.#changes.emit('failed', error)
  }

  #stopServing(): void {
    this.#log?.close()
    this.#log = undefined
    this.#readiness?.close()
    this.#readiness = undefined
    this.#changes.emit('gone', undefined)
    this.#ports.sendAway()
  }

  /**
   * The rebuild begins after this turn of the event loop has sent its answers (M25). Otherwise the client
   * that asked for the rebuild would get no answer.
   */
  #rebuildLater(later: Defer): void {
    later(() => this.#ports.world.nextTurn(() => this.#rebuild()))
  }

  /** A request during a rebuild starts no second rebuild. */
  #rebuild(): void {
    if (this.#closing || this.#failure !== undefined) return
    this.#rebuilding ??= this.#buildAnew().finally(() => {
      this.#rebuilding = undefined
    })
  }

  /**
   * Deletes the state of the member. The member keeps its log and its vote, and another member sends the
   * state.
   */
  async #buildAnew(): Promise<void> {
    const { settings, storage } = this.#ports
    settings().logger.warn('the state of this member is deleted, and another member will send it again')
    try {
      await this.#stop()
      if (this.#closing) return
      await storage.rows.discard()
      await this.open()
    } catch (error) {
      this.#onFailed(
        error instanceof LatchkeyError
          ? error
          : new LatchkeyError('ERR_STORAGE_FAILED', String(error), { cause: error }),
      )
    }
  }

  async #stop(): Promise<void> {
    const member = this.#member
    this.#member = undefined
    this.#stopServing()
    await member?.close()
  }

  willClose(): void {
    this.#closing = true
  }

  async close(): Promise<void> {
    this.#closing = true
    await this.#rebuilding
    await this.#stop().catch((error: unknown) =>
      this.#ports
        .settings()
        .logger.warn('there was an error while this member closed', { error: String(error) }),
    )
  }
}

export const hasOthers = ({ id, replica }: Member): boolean =>
  Object.keys(replica.node.raft.membership.peers).some((other) => other !== id)
