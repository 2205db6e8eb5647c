// Driver: Curator's recipes over node-zookeeper-client, which has none: InterProcessMutex and LeaderLatch (each in a
// line of sequential nodes), and InterProcessSemaphoreV2 (leases behind a mutex), by the steps of Curator's classes.

import type { Client, Event } from 'node-zookeeper-client'

/** How it went: without an error, or because the node was not there. */
type Found<T> = { readonly value: T } | 'no node'

const NO_NODE = -101
const NOTHING = Buffer.alloc(0)

export class CuratorRecipes {
  readonly #client: Client
  readonly #sequential: number
  readonly #folders = new Map<string, Promise<void>>()

  constructor(client: Client, modes: { EPHEMERAL_SEQUENTIAL: number }) {
    this.#client = client
    this.#sequential = modes.EPHEMERAL_SEQUENTIAL
  }

  /**
   * LockInternals: a node at the end of the line. Whoever is not the first watches the one before it, and looks at
   * the line again when that is gone. Resolves to the node, which is removed to let go.
   */
  async enterLine(folder: string): Promise<string> {
    const path = await this.#join(folder)
    const own = path.slice(folder.length + 1)
    for (;;) {
      const line = (await this.#children(folder)).sort()
      const place = line.indexOf(own)
      if (place < 0) throw new Error(`${path} is gone`)
      if (place === 0) return path
      await this.#goneAfterWatch(`${folder}/${line[place - 1]}`)
    }
  }

  /** InterProcessSemaphoreV2: whoever has the mutex waits for its turn among the leases. */
  async acquirePermit(folder: string, of: number): Promise<string> {
    const mutex = await this.enterLine(`${folder}/locks`)
    try {
      const leases = `${folder}/leases`
      const path = await this.#join(leases)
      for (;;) {
        let changed: () => void = () => {}
        const change = new Promise<void>((resolve) => {
          changed = resolve
        })
        if ((await this.#children(leases, changed)).length <= of) return path
        await change
      }
    } finally {
      await this.remove(mutex)
    }
  }

  remove(path: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#client.remove(path, (error) => (error ? reject(error as Error) : resolve()))
    })
  }

  async #join(folder: string): Promise<string> {
    const made = this.#folders.get(folder) ?? this.#makeFolder(folder)
    this.#folders.set(folder, made)
    await made
    return new Promise((resolve, reject) => {
      this.#client.create(`${folder}/n-`, NOTHING, this.#sequential, (error, path) =>
        error ? reject(error as Error) : resolve(path),
      )
    })
  }

  #makeFolder(folder: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#client.mkdirp(folder, (error) => (error ? reject(error as Error) : resolve()))
    })
  }

  #children(folder: string, watcher?: (event: Event) => void): Promise<string[]> {
    return new Promise((resolve, reject) => {
      const done = (error: unknown, children: string[]) =>
        error ? reject(error as Error) : resolve(children)
      if (watcher === undefined) this.#client.getChildren(folder, done)
      else this.#client.getChildren(folder, watcher, done)
    })
  }

  /** Resolves when something has happened to that node, or if it is not there. */
  async #goneAfterWatch(path: string): Promise<void> {
    let happened: () => void = () => {}
    const event = new Promise<void>((resolve) => {
      happened = resolve
    })
    const found = await new Promise<Found<Buffer>>((resolve, reject) => {
      this.#client.getData(path, happened, (error, value) => {
        if (!error) resolve({ value })
        else if ((error as { getCode?(): number }).getCode?.() === NO_NODE) resolve('no node')
        else reject(error as Error)
      })
    })
    if (found !== 'no node') await event
  }
}
