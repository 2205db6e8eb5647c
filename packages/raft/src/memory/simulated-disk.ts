// Driver: a simulated disk that implements FileSystem. The disk keeps each file twice: as a reader sees it,
// and as it would be after a power loss. The disk counts its operations, and fails or stops at the operation
// that a test names.
//
//   const disk = new MemoryDisk()
//   disk.stopAt(17, 'after')     operation 17 is done, and from then on no callback is called
//   disk.crash(random)           a power loss: synced bytes stay, and a random part of all other bytes
//   disk.kill(random)            the process ends and the machine goes on: all written bytes stay
//
// After a crash or a kill, the callbacks of earlier operations are never called.

import { assert, microtask, type Random } from '@latchkey/base'
import type { Done, File, FileSystem, Opened } from '../wal/file-system-interface.js'
import type { Inode, Loss } from './simulated-file.js'
import { Names } from './simulated-file-names.js'

type DiskOpKind =
  | 'write'
  | 'sync'
  | 'truncate'
  | 'create'
  | 'remove'
  | 'rename'
  | 'syncDir'
  | 'open'
  | 'close'

export interface DiskOp {
  readonly kind: DiskOpKind
  readonly path: string
  /**
   * The number of the operation, from 1. An operation that does not change the disk has the number of the
   * last operation that changed the disk.
   */
  readonly number: number
  readonly bytes: number
}

export interface DiskFailure {
  readonly code: 'EIO' | 'ENOSPC'
  /** True if the failed operation has changed the disk in spite of its error. */
  readonly kept?: boolean
  /** For a failed write, how many of its bytes were written. */
  readonly short?: number
}

interface MemoryDiskOptions {
  /** Calls `run` when the operation completes. By default an operation completes in a microtask. */
  readonly schedule?: (op: DiskOp, run: () => void) => void
  readonly sizes?: NonNullable<FileSystem['sizes']>
  /** False after the process has died. The disk ignores all operations of a dead process. */
  readonly isAlive?: () => boolean
}

interface Flight {
  readonly op: DiskOp
  readonly apply: () => void
  /** Applies what a real disk may have written if the power fails before the operation completes. */
  readonly half: (() => void) | undefined
}

const READS: ReadonlySet<DiskOpKind> = new Set(['open', 'close'])
const LOSSES: readonly Loss[] = ['none', 'all', 'prefix', 'some', 'some', 'some']

export class MemoryDisk implements FileSystem {
  readonly sizes: NonNullable<FileSystem['sizes']>
  readonly #schedule: (op: DiskOp, run: () => void) => void
  readonly #isAlive: () => boolean
  readonly #names = new Names()
  readonly #failures = new Map<number, DiskFailure>()
  #flights = new Set<Flight>()
  #operations = 0
  #epoch = 0
  #stop: { readonly at: number; readonly when: 'before' | 'after'; readonly onStop: () => void } | undefined
  #stopped = false

  constructor(options: MemoryDiskOptions = {}) {
    this.sizes = options.sizes ?? { segmentBytes: 1024 * 1024, growBytes: 4096 }
    this.#isAlive = options.isAlive ?? (() => true)
    this.#schedule = options.schedule ?? ((_op, run) => microtask(run))
  }

  get operations(): number {
    return this.#operations
  }

  get stopped(): boolean {
    return this.#stopped
  }

  /**
   * Stops the disk before or after the operation with this number, counted from 1. Operations that are under
   * way at the stop never call back.
   */
  stopAt(number: number, when: 'before' | 'after', onStop: () => void = () => {}): void {
    this.#stop = { at: number, when, onStop }
  }

  failAt(number: number, failure: DiskFailure): void {
    this.#failures.set(number, failure)
  }

  crash(random: Random, loss: Loss = random.pick(LOSSES)): void {
    for (const { half } of this.#flights) if (loss !== 'all') half?.()
    this.#restart()
    this.#names.lose(random, loss)
  }

  kill(random: Random): void {
    const done = random.between(0, this.#flights.size + 1)
    for (const { apply } of [...this.#flights].slice(0, done)) apply()
    this.#restart()
  }

  #restart(): void {
    this.#flights = new Set()
    this.#epoch++
    this.#stop = undefined
    this.#stopped = false
    this.#failures.clear()
  }

  // The methods from here to `restore` are for tests. A method that changes a file changes its visible and
  // its durable content at the same time.

  paths(): string[] {
    return this.#names.paths()
  }

  bytes(path: string): Uint8Array {
    return this.#inode(path).bytes()
  }

  put(path: string, bytes: Uint8Array): void {
    this.#names.put(path, bytes)
  }

  drop(path: string): void {
    this.#names.drop(path)
  }

  flipBit(path: string, bit: number): void {
    const bytes = this.bytes(path)
    bytes[bit >>> 3] = (bytes[bit >>> 3] as number) ^ (1 << (bit & 7))
    this.put(path, bytes)
  }

  image(): ReadonlyMap<string, Uint8Array> {
    return this.#names.durableImage()
  }

  restore(image: ReadonlyMap<string, Uint8Array>): void {
    this.#restart()
    this.#names.restore(image)
  }

  open(path: string, how: 'create' | 'existing', done: Opened): void {
    const opened = () => done(undefined, new MemoryFile(this, this.#inode(path), path))
    if ((this.#names.get(path) === undefined) === (how === 'existing')) {
      return this.run(
        'open',
        path,
        0,
        () => {},
        () => done(fault(how === 'create' ? 'EEXIST' : 'ENOENT', path)),
      )
    }
    if (how === 'existing') return this.run('open', path, 0, () => {}, opened)
    this.run(
      'create',
      path,
      0,
      () => this.#names.add(path),
      (error) => (error ? done(error) : opened()),
    )
  }

  remove(path: string, done: Done): void {
    if (this.#names.get(path) === undefined)
      return this.run(
        'open',
        path,
        0,
        () => {},
        () => done(fault('ENOENT', path)),
      )
    this.run('remove', path, 0, () => this.#names.remove(path), done)
  }

  rename(from: string, to: string, done: Done): void {
    if (this.#names.get(from) === undefined)
      return this.run(
        'open',
        from,
        0,
        () => {},
        () => done(fault('ENOENT', from)),
      )
    this.run('rename', from, 0, () => this.#names.rename(from, to), done)
  }

  syncDir(path: string, done: Done): void {
    // A failed sync of a folder loses no names. A real file system keeps names in its journal, and stops if
    // it cannot write the journal. So if a later sync of the folder succeeds, all names are durable. A failed
    // sync of a file is different: the data that waited for it is lost (Inode.forget).
    this.run('syncDir', path, 0, () => this.#names.syncDir(path), done)
  }

  makeDir(): Promise<void> {
    return Promise.resolve()
  }

  list(path: string): Promise<readonly string[]> {
    return Promise.resolve(this.#names.list(path))
  }

  read(path: string): Promise<Uint8Array | undefined> {
    return Promise.resolve(this.#names.get(path)?.bytes())
  }

  #inode(path: string): Inode {
    const inode = this.#names.get(path)
    assert(inode !== undefined, `no file ${path} on the simulated disk`)
    return inode
  }

  run(
    kind: DiskOpKind,
    path: string,
    bytes: number,
    apply: () => void,
    done: Done,
    more: OpDetail = {},
  ): void {
    if (!this.#isAlive()) return
    const op = { kind, path, number: READS.has(kind) ? this.#operations : ++this.#operations, bytes }
    const flight: Flight = { op, apply, half: more.half }
    const epoch = this.#epoch
    this.#flights.add(flight)
    this.#schedule(op, () => {
      if (epoch !== this.#epoch || this.#stopsAt(flight)) return
      this.#flights.delete(flight)
      const failure = READS.has(kind) ? undefined : this.#failures.get(op.number)
      if (failure === undefined) apply()
      else fail(failure, apply, more)
      if (this.#stopsAfter(op)) return
      done(failure === undefined ? undefined : fault(failure.code, path))
    })
  }

  #stopsAt({ op }: Flight): boolean {
    if (this.#stopped) return true
    if (this.#stop === undefined || this.#stop.when !== 'before' || op.number < this.#stop.at) return false
    this.#halt()
    return true
  }

  #stopsAfter(op: DiskOp): boolean {
    if (this.#stop === undefined || this.#stop.when !== 'after' || op.number < this.#stop.at) return false
    this.#halt()
    return true
  }

  #halt(): void {
    this.#stopped = true
    this.#stop?.onStop()
  }
}

interface OpDetail {
  /** The effect of a power loss during the operation. */
  readonly half?: () => void
  /** The effect of a failed sync: later syncs do not write the data that waited for this sync. */
  readonly forget?: () => void
  /** The effect of a failed write that wrote this many bytes. */
  readonly short?: (bytes: number) => void
}

function fail(failure: DiskFailure, apply: () => void, detail: OpDetail): void {
  if (failure.kept === true) apply()
  else if (failure.short !== undefined) detail.short?.(failure.short)
  detail.forget?.()
}

function fault(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: simulated, '${path}'`), { code, path })
}

class MemoryFile implements File {
  readonly #disk: MemoryDisk
  readonly #inode: Inode
  readonly #path: string

  constructor(disk: MemoryDisk, inode: Inode, path: string) {
    this.#disk = disk
    this.#inode = inode
    this.#path = path
  }

  write(offset: number, bytes: Uint8Array, done: Done): void {
    const inode = this.#inode
    this.#disk.run('write', this.#path, bytes.length, () => inode.write(offset, bytes), done, {
      half: () => inode.addPending(offset, bytes),
      short: (count) => inode.write(offset, bytes.subarray(0, count)),
    })
  }

  sync(done: Done): void {
    const inode = this.#inode
    this.#disk.run('sync', this.#path, 0, () => inode.sync(), done, { forget: () => inode.forget() })
  }

  commit(offset: number, parts: readonly Uint8Array[], done: Done): void {
    const [first] = parts
    const bytes = parts.length === 1 && first !== undefined ? first : Buffer.concat(parts)
    this.write(offset, bytes, (error) => (error ? done(error) : this.sync(done)))
  }

  truncate(length: number, done: Done): void {
    this.#disk.run('truncate', this.#path, 0, () => this.#inode.truncate(length), done)
  }

  close(done: Done): void {
    this.#disk.run('close', this.#path, 0, () => {}, done)
  }
}
