// Rule: the file names of the simulated disk, which are kept twice: as a reader sees them, and as they would
// be after a power loss.

import { assert, type Random } from '@latchkey/base'
import { Inode, type Loss } from './simulated-file.js'

type Change =
  | { readonly type: 'add'; readonly path: string; readonly inode: Inode }
  | { readonly type: 'remove'; readonly path: string }
  | { readonly type: 'rename'; readonly path: string; readonly to: string; readonly inode: Inode }

const folderOf = (path: string): string => path.slice(0, path.lastIndexOf('/'))

export class Names {
  #live = new Map<string, Inode>()
  #durable = new Map<string, Inode>()
  #pending: Change[] = []

  get(path: string): Inode | undefined {
    return this.#live.get(path)
  }

  paths(): string[] {
    return [...this.#live.keys()].sort()
  }

  list(folder: string): string[] {
    const paths = this.paths().filter((path) => folderOf(path) === folder)
    return paths.map((path) => path.slice(folder.length + 1))
  }

  add(path: string): Inode {
    const inode = new Inode()
    this.#change({ type: 'add', path, inode })
    return inode
  }

  remove(path: string): void {
    this.#change({ type: 'remove', path })
  }

  rename(path: string, to: string): void {
    assert(folderOf(path) === folderOf(to), 'the simulated disk renames inside one folder')
    this.#change({ type: 'rename', path, to, inode: this.#live.get(path) as Inode })
  }

  syncDir(folder: string): void {
    for (const change of this.#pending) if (folderOf(change.path) === folder) apply(this.#durable, change)
    this.#pending = this.#pending.filter((change) => folderOf(change.path) !== folder)
  }

  lose(random: Random, loss: Loss): void {
    for (const change of this.#kept(random, loss)) apply(this.#durable, change)
    this.#pending = []
    for (const inode of new Set(this.#durable.values())) inode.lose(random, loss)
    this.#live = new Map(this.#durable)
  }

  #kept(random: Random, loss: Loss): Change[] {
    if (loss === 'none') return this.#pending
    if (loss === 'all') return []
    if (loss === 'some') return this.#pending.filter(() => random.chance(0.5))
    return this.#pending.slice(0, random.between(0, this.#pending.length + 1))
  }

  /** The new file is visible and durable immediately. */
  put(path: string, bytes: Uint8Array): void {
    const inode = this.#live.get(path) ?? new Inode()
    inode.replace(bytes)
    this.#live.set(path, inode)
    this.#durable.set(path, inode)
  }

  drop(path: string): void {
    this.#live.delete(path)
    this.#durable.delete(path)
  }

  durableImage(): Map<string, Uint8Array> {
    return new Map([...this.#durable].map(([path, inode]) => [path, inode.durableBytes()]))
  }

  restore(image: ReadonlyMap<string, Uint8Array>): void {
    this.#pending = []
    this.#durable = new Map([...image].map(([path, bytes]) => [path, Inode.holding(bytes)]))
    this.#live = new Map(this.#durable)
  }

  #change(change: Change): void {
    this.#pending.push(change)
    apply(this.#live, change)
  }
}

function apply(names: Map<string, Inode>, change: Change): void {
  if (change.type !== 'add') names.delete(change.path)
  if (change.type === 'add') names.set(change.path, change.inode)
  if (change.type === 'rename') names.set(change.to, change.inode)
}
