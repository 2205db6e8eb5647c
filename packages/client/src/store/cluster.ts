// Door: calls about the cluster.

import {
  type CallOptions,
  type MemberCalls,
  type Status,
  callArgs,
  show,
  toNothing,
} from '@latchkey/protocol'
import type { AdminCall } from '@latchkey/protocol'
import type { Engine } from '../engine/engine.js'
import { attempt } from './attempt.js'

export class Cluster {
  readonly members: MemberCalls
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
    this.members = {
      add: (id, url, options) =>
        this.#change('members.add', () => [word(id, 'id'), word(url, 'url')], options),
      promote: (id, options) => this.#change('members.promote', () => [word(id, 'id')], options),
      update: (id, url, options) =>
        this.#change('members.update', () => [word(id, 'id'), word(url, 'url')], options),
      remove: (id, options) => this.#change('members.remove', () => [word(id, 'id')], options),
      rebuild: (id, options) => this.#change('members.rebuild', () => [word(id, 'id')], options),
    }
  }

  /** Waits without limit, unless one is given. */
  ready(options?: CallOptions): Promise<void> {
    return attempt(() => this.#engine.admin('ready', [], false, callArgs(options, null), toNothing))
  }

  status(options?: CallOptions): Promise<Status> {
    return attempt(() => this.#engine.admin('status', [], false, callArgs(options), toStatus))
  }

  transferLeadership(id?: string, options?: CallOptions): Promise<void> {
    return this.#change('transferLeadership', () => [id === undefined ? null : word(id, 'id')], options)
  }

  snapshot(options?: CallOptions): Promise<void> {
    return this.#change('snapshot', () => [], options, NO_LIMIT)
  }

  backup(path: string, options?: CallOptions): Promise<void> {
    return this.#change('backup', () => [word(path, 'path')], options, NO_LIMIT)
  }

  #change(call: AdminCall, args: () => unknown[], options: unknown, standard?: null): Promise<void> {
    return attempt(() => this.#engine.admin(call, args(), true, callArgs(options, standard), toNothing))
  }
}

/** Takes as long as it takes, unless a limit is given. */
const NO_LIMIT = null

function word(value: unknown, name: string): string {
  if (typeof value === 'string' && value !== '') return value
  throw new TypeError(`${name} must be a string that is not empty; got ${show(value)}`)
}

/** What is absent is null on the wire. */
function toStatus(result: unknown): Status {
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
