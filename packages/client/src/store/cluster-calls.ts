// Door: the calls about the cluster: members, status, leadership, snapshots.

import {
  type CallOptions,
  CAPS,
  type MemberCalls,
  type Metric,
  type SessionCalls,
  type SnapshotResult,
  type Status,
  callArgs,
  show,
  toBoolean,
  toCount,
  toNothing,
  toSessions,
} from '@latchkey/protocol'
import type { AdminCall } from '@latchkey/protocol'
import type { Engine } from '../engine/engine.js'
import { attempt } from './reject-not-throw.js'

export class Cluster {
  readonly members: MemberCalls
  readonly sessions: SessionCalls
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
    this.members = {
      add: (id, url, options) => this.#change('members.add', () => [name(id), address(url)], options),
      promote: (id, options) => this.#change('members.promote', () => [name(id)], options),
      update: (id, url, options) => this.#change('members.update', () => [name(id), address(url)], options),
      remove: (id, options) => this.#change('members.remove', () => [name(id)], options),
      rebuild: (id, options) => this.#change('members.rebuild', () => [name(id)], options),
    }
    this.sessions = {
      list: (options) =>
        attempt(() =>
          engine.admin('sessions.list', [], false, callArgs('sessions.list', options), toSessions),
        ),
      end: (id, options) => this.#end(id, options),
    }
  }

  #end(id: number, options?: CallOptions): Promise<boolean> {
    return attempt(() => {
      const args = [session(id)]
      return this.#engine.admin('sessions.end', args, true, callArgs('sessions.end', options), toBoolean)
    })
  }

  /**
   * The default timeout is 30 s, because an operator may have to start the members of a new cluster by hand.
   */
  ready(options?: CallOptions): Promise<void> {
    return attempt(() =>
      this.#engine.admin('ready', [], false, callArgs('ready', options, READY_TIMEOUT), toNothing),
    )
  }

  status(options?: CallOptions): Promise<Status> {
    return attempt(() => this.#engine.admin('status', [], false, callArgs('status', options), toStatus))
  }

  metrics(options?: CallOptions): Promise<Metric[]> {
    return attempt(() =>
      this.#engine.admin('metrics', [], false, callArgs('metrics', options), (result) => result as Metric[]),
    )
  }

  transferLeadership(id?: string, options?: CallOptions): Promise<void> {
    return this.#change('transferLeadership', () => [id === undefined ? null : name(id)], options)
  }

  snapshot(options?: CallOptions): Promise<SnapshotResult> {
    return attempt(() =>
      this.#engine.admin('snapshot', [], true, callArgs('snapshot', options, NO_LIMIT), (result) => {
        const { bytesBefore, bytesAfter } = (result ?? {}) as Partial<SnapshotResult>
        return { bytesBefore: toCount(bytesBefore), bytesAfter: toCount(bytesAfter) }
      }),
    )
  }

  #change(call: AdminCall, args: () => unknown[], options: unknown): Promise<void> {
    return attempt(() => this.#engine.admin(call, args(), true, callArgs(call, options), toNothing))
  }
}

const READY_TIMEOUT = 30_000

const NO_LIMIT = null

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/** Accepts the same names as open(), so that no member is added with a name that open() would refuse. */
function name(id: unknown): string {
  if (typeof id === 'string' && NAME.test(id)) return id
  throw new TypeError(
    `id must be 1 to 64 letters, digits, dots, dashes or underscores, beginning with a letter or digit; got ${show(id)}`,
  )
}

function session(id: unknown): string {
  if (Number.isSafeInteger(id) && (id as number) >= 1 && (id as number) <= CAPS.recordNumber)
    return String(id)
  throw new TypeError(`id must be the number of a session, as sessions.list() tells it; got ${show(id)}`)
}

function address(url: unknown): string {
  const parsed = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined
  if (parsed && (parsed.protocol === 'ws:' || parsed.protocol === 'wss:') && parsed.hostname !== '')
    return url as string
  throw new TypeError(`url must be an address such as 'ws://127.0.0.1:7001'; got ${show(url)}`)
}

/** Converts the answer to `status`. An absent field is null on the wire, and undefined for the caller. */
export function toStatus(result: unknown): Status {
  const status = result as Status
  return {
    ...status,
    leader: status.leader ?? undefined,
    members: status.members.map((member) => ({
      ...member,
      lag: member.lag ?? undefined,
      alive: member.alive ?? undefined,
    })),
  }
}
