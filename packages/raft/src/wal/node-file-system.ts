// Driver: the file-system port on real files, with node:fs.
//
// On Linux a commit is one write to a file descriptor that was opened with O_DSYNC. Such a write is as
// durable as a write and an fdatasync, and uses the thread pool once instead of twice (docs/disk.md has the
// figures). On other systems a commit is a write and then an fdatasync.

import * as nodeFs from 'node:fs'
import { dirname, resolve } from 'node:path'
import { microtask } from '@latchkey/base'
import type { Done, File, FileSystem, Opened } from './file-system-interface.js'
import { makeFolders } from './make-folders.js'

/** Tests pass functions that fail. */
export type NodeCalls = Pick<
  typeof nodeFs,
  'open' | 'write' | 'writev' | 'fdatasync' | 'fsync' | 'ftruncate' | 'close' | 'unlink' | 'rename'
> & { readonly promises: Pick<typeof nodeFs.promises, 'mkdir' | 'readdir' | 'readFile'> }

const { O_CREAT, O_EXCL, O_WRONLY, O_RDONLY, O_DSYNC } = nodeFs.constants
const MODE = 0o600
/**
 * True if O_DSYNC makes a write durable. On macOS a write with O_DSYNC leaves the data in the disk's cache,
 * but libuv's fdatasync also flushes this cache. Windows has no O_DSYNC.
 */
const ONE_TRIP = process.platform === 'linux' && O_DSYNC !== undefined

class NodeFile implements File {
  readonly #calls: NodeCalls
  readonly #path: string
  readonly #fd: number
  /** The second file descriptor, with O_DSYNC. The first commit opens it. */
  #commitFd: number | undefined

  constructor(calls: NodeCalls, path: string, fd: number) {
    this.#calls = calls
    this.#path = path
    this.#fd = fd
  }

  write(offset: number, bytes: Uint8Array, done: Done): void {
    this.#writeAll(this.#fd, offset, [bytes], done)
  }

  sync(done: Done): void {
    this.#calls.fdatasync(this.#fd, (error) => done(error ?? undefined))
  }

  commit(offset: number, parts: readonly Uint8Array[], done: Done): void {
    if (this.#commitFd !== undefined) return this.#writeAll(this.#commitFd, offset, parts, done)
    if (!ONE_TRIP) {
      const written: Done = (error) => (error ? done(error) : this.sync(done))
      return this.#writeAll(this.#fd, offset, parts, written)
    }
    this.#calls.open(this.#path, O_WRONLY | O_DSYNC, (error, fd) => {
      if (error) return done(error)
      this.#commitFd = fd
      this.#writeAll(fd, offset, parts, done)
    })
  }

  truncate(length: number, done: Done): void {
    this.#calls.ftruncate(this.#fd, length, (error) => done(error ?? undefined))
  }

  close(done: Done): void {
    this.#calls.close(this.#fd, (error) => {
      if (error) return done(error)
      if (this.#commitFd === undefined) return done()
      this.#calls.close(this.#commitFd, (error) => done(error ?? undefined))
    })
  }

  /**
   * If the operating system accepts only a part of a write, this method writes the rest with another call
   * (D5).
   */
  #writeAll(fd: number, offset: number, parts: readonly Uint8Array[], done: Done): void {
    const after = (error: Error | null, written: number): void => {
      if (error) return done(error)
      const rest = behind(parts, written)
      if (rest.length === 0) return done()
      if (written === 0) return done(new Error(`${this.#path}: a write at ${offset} wrote nothing`))
      this.#writeAll(fd, offset + written, rest, done)
    }
    const [first] = parts
    if (parts.length === 1 && first !== undefined)
      this.#calls.write(fd, first, 0, first.length, offset, after)
    else this.#calls.writev(fd, parts, offset, after)
  }
}

function behind(parts: readonly Uint8Array[], bytes: number): Uint8Array[] {
  const rest: Uint8Array[] = []
  let skip = bytes
  for (const part of parts) {
    if (skip < part.length) rest.push(skip === 0 ? part : part.subarray(skip))
    skip = Math.max(0, skip - part.length)
  }
  return rest
}

class NodeFileSystem implements FileSystem {
  readonly #calls: NodeCalls

  constructor(calls: NodeCalls) {
    this.#calls = calls
  }

  open(path: string, how: 'create' | 'existing', done: Opened): void {
    const flags = how === 'create' ? O_CREAT | O_EXCL | O_WRONLY : O_WRONLY
    this.#calls.open(path, flags, MODE, (error, fd) => {
      if (error) return done(error)
      done(undefined, new NodeFile(this.#calls, path, fd))
    })
  }

  remove(path: string, done: Done): void {
    this.#calls.unlink(path, (error) => done(error ?? undefined))
  }

  rename(from: string, to: string, done: Done): void {
    this.#calls.rename(from, to, (error) => done(error ?? undefined))
  }

  syncDir(path: string, done: Done): void {
    // Windows cannot sync a folder. Its file systems record names in their journal.
    if (process.platform === 'win32') return microtask(done)
    this.#calls.open(path, O_RDONLY, (error, fd) => {
      if (error) return done(error)
      this.#calls.fsync(fd, (failed) => {
        this.#calls.close(fd, (error) => done(failed ?? error ?? undefined))
      })
    })
  }

  async makeDir(path: string): Promise<void> {
    const { mkdir } = this.#calls.promises
    const first = await makeFolders(path, (folder, options) => mkdir(folder, options))
    if (first === undefined) return
    const top = dirname(first)
    for (let dir = dirname(resolve(path)); ; dir = dirname(dir)) {
      await new Promise<void>((done, fail) => {
        this.syncDir(dir, (error) => (error ? fail(error) : done()))
      })
      if (dir === top) return
    }
  }

  async list(path: string): Promise<readonly string[]> {
    return (await this.#calls.promises.readdir(path)).sort()
  }

  async read(path: string): Promise<Uint8Array | undefined> {
    try {
      return await this.#calls.promises.readFile(path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  }
}

export const nodeFileSystem = (calls: NodeCalls = nodeFs): FileSystem => new NodeFileSystem(calls)
