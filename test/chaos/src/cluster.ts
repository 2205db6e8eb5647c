// Driver: owns a cluster of real processes in a temporary folder, and leaves nothing behind.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePorts } from './ports.js'
import { Sidecar } from './sidecar.js'

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'g']

export interface ClusterOptions {
  readonly size?: number
  readonly flags?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
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
    const urls = Object.fromEntries(ids.map((id, i) => [id, `ws://127.0.0.1:${ports[i]}`]))
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
    await Promise.all(this.members.filter((member) => member.running).map((member) => member.ready()))
  }

  /** A new process that lists itself and the members so far; started with --join. */
  async join(id: string): Promise<Sidecar> {
    const [port] = (await freePorts(1)) as [number]
    const urls = Object.fromEntries([
      ...this.members.map((m) => [m.id, m.url] as const),
      [id, `ws://127.0.0.1:${port}`],
    ])
    const member = new Sidecar(memberOptions(this.folder, id, port, urls, this.#options))
    this.members.push(member)
    member.start(['--join'])
    return member
  }

  /** The member that leads in the highest term anybody knows; waits until there is one. */
  async leader(timeout = 15_000): Promise<Sidecar> {
    const deadline = performance.now() + timeout
    for (;;) {
      const known = (await Promise.all(this.members.map((member) => member.status()))).filter(
        (one) => one !== undefined,
      )
      const newest = Math.max(0, ...known.map((one) => one.term))
      const leader = known.find((one) => one.role === 'leader' && one.term === newest)
      if (leader !== undefined) return this.get(leader.id)
      if (performance.now() > deadline) throw new Error(`no leader after ${timeout} ms`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  async destroy(): Promise<void> {
    await Promise.all(this.members.map((member) => member.kill()))
    await rm(this.folder, { recursive: true, force: true })
  }
}

function memberOptions(
  folder: string,
  id: string,
  port: number,
  members: Record<string, string>,
  options: ClusterOptions,
) {
  return { id, dir: join(folder, id), port, members, flags: options.flags ?? [], env: options.env ?? {} }
}
