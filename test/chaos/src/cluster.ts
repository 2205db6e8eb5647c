// Driver: owns a cluster of real processes in a temporary folder, and leaves nothing behind.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Store } from '@latchkey/client'
import { isLatchkeyError } from '@latchkey/protocol'
import { freePorts } from './ports.js'
import { Sidecar } from './sidecar.js'
import { pause, until } from './until.js'

export { Sidecar, type SidecarOptions, type Status } from './sidecar.js'

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'g']

export interface ClusterOptions {
  readonly size?: number
  readonly flags?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Whom to trust: the members' flags then say that they serve TLS. */
  readonly ca?: string
  /** With what the members are asked for their status. */
  readonly token?: string
}

export class Cluster {
  readonly folder: string
  readonly members: Sidecar[]
  readonly #options: ClusterOptions

  constructor(folder: string, members: Sidecar[], options: ClusterOptions) {
    this.folder = folder
    this.members = members
    this.#options = options
  }

  /** Started, and ready. */
  static async start(options: ClusterOptions = {}): Promise<Cluster> {
    const folder = await mkdtemp(join(tmpdir(), 'latchkey-'))
    const ids = NAMES.slice(0, options.size ?? 3)
    const ports = await freePorts(ids.length)
    const scheme = options.ca === undefined ? 'ws' : 'wss'
    const urls = Object.fromEntries(ids.map((id, i) => [id, `${scheme}://127.0.0.1:${ports[i]}`]))
    const members = ids.map(
      (id, i) => new Sidecar(memberOptions(folder, id, ports[i] as number, urls, options)),
    )
    const cluster = new Cluster(folder, members, options)
    try {
      for (const member of members) member.start()
      await cluster.ready()
      return cluster
    } catch (error) {
      await cluster.destroy()
      throw error
    }
  }

  get urls(): string[] {
    return this.members.map((member) => member.url)
  }

  get(id: string): Sidecar {
    const member = this.members.find((one) => one.id === id)
    if (member === undefined) throw new Error(`no member ${id}`)
    return member
  }

  async ready(): Promise<void> {
    try {
      await Promise.all(this.members.filter((member) => member.running).map((member) => member.ready()))
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${await this.#story()}`, { cause: error })
    }
  }

  /** What everybody says of itself, for a failing test's message. */
  async #story(): Promise<string> {
    const told = this.members.map(
      async (member) =>
        `${member.id}: ${JSON.stringify(await member.status())}\n${member.output.slice(-1000)}`,
    )
    return (await Promise.all(told)).join('\n')
  }

  /**
   * A new process that lists itself and the members so far; started with --join, with a directory of its own.
   */
  async join(id: string): Promise<Sidecar> {
    const [port] = (await freePorts(1)) as [number]
    const scheme = this.#options.ca === undefined ? 'ws' : 'wss'
    const urls = Object.fromEntries([
      ...this.members.map((m) => [m.id, m.url] as const),
      [id, `${scheme}://127.0.0.1:${port}`],
    ])
    const member = new Sidecar(memberOptions(this.folder, id, port, urls, this.#options))
    this.members.push(member)
    member.start({ flags: ['--join'] })
    return member
  }

  /** One voter more: started, added, caught up, promoted. */
  async grow(id: string, store: Store): Promise<Sidecar> {
    const member = await this.join(id)
    await again(() => store.members.add(id, member.url))
    await again(() => store.members.promote(id))
    await member.ready()
    return member
  }

  /** One member less: removed, then stopped. */
  async shrink(id: string, store: Store): Promise<void> {
    await again(() => store.members.remove(id))
    const member = this.get(id)
    await member.stop()
    this.members.splice(this.members.indexOf(member), 1)
  }

  /** The member that leads in the highest term anybody knows; waits until there is one. */
  async leader(): Promise<Sidecar> {
    return until('a leader', () => this.#leaderNow())
  }

  async #leaderNow(): Promise<Sidecar | undefined> {
    const known = (await Promise.all(this.members.map((member) => member.status()))).filter(
      (one) => one !== undefined,
    )
    const newest = Math.max(0, ...known.map((one) => one.term))
    const leader = known.find((one) => one.role === 'leader' && one.term === newest)
    return leader && this.get(leader.id)
  }

  async destroy(): Promise<void> {
    await Promise.all(this.members.map((member) => member.kill()))
    await rm(this.folder, { recursive: true, force: true })
  }
}

/** A change of members, asked again while it says that this may help, or that its outcome is unknown. */
async function again(change: () => Promise<void>): Promise<void> {
  const deadline = performance.now() + 60_000
  for (;;) {
    try {
      return await change()
    } catch (error) {
      const worth = isLatchkeyError(error) && (error.retryable || error.outcome === 'unknown')
      if (!worth || performance.now() > deadline) throw error
      await pause(50)
    }
  }
}

function memberOptions(
  folder: string,
  id: string,
  port: number,
  members: Record<string, string>,
  { flags = [], env = {}, ca, token }: ClusterOptions,
) {
  const asked = { ...(ca === undefined ? {} : { ca }), ...(token === undefined ? {} : { token }) }
  return { id, dir: join(folder, id), port, members, flags, env, ...asked }
}
