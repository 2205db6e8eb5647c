// Driver: the port to a file system. node-file-system.ts is the real implementation, and
// memory/simulated-disk.ts the simulated one. Both pass file-system-suite.ts.
//
// Laws of every implementation:
//   F1  `done` is called exactly once, never before the call has returned.
//   F2  The caller has at most one call under way on a file, and does not read a file while it writes it.
//   F3  What `write` wrote is durable only once a later `sync` of the same file has returned without an
//       error. Before that, any part of it may be durable, in any order.
//   F4  `commit` is `write` and `sync` in one. It writes its parts one after another, as if they were joined.
//   F5  The creation, renaming or removal of a file is durable only once `syncDir` of its folder has returned
//       without an error.
//   F6  After an error of `sync` or `commit` it is unknown what is durable: do not try again, stop.
//   F7  The caller must not change the bytes that it passed to `write` or `commit` until `done`.

export type Done = (error?: Error) => void

export interface File {
  /** Writes all of `bytes` at `offset`. The file grows as needed. Bytes that were never written are zeros. */
  write(offset: number, bytes: Uint8Array, done: Done): void
  sync(done: Done): void
  commit(offset: number, parts: readonly Uint8Array[], done: Done): void
  truncate(length: number, done: Done): void
  close(done: Done): void
}

export type Opened = (error: Error | undefined, file?: File) => void

export interface FileSystem {
  /** The default sizes of a log on this file system. Preallocation makes a disk in memory no faster. */
  readonly sizes?: { readonly segmentBytes: number; readonly growBytes: number }
  /** Opens a file for writing. 'create' makes a new, empty file, and fails if the name exists. */
  open(path: string, how: 'create' | 'existing', done: Opened): void
  remove(path: string, done: Done): void
  /** Replaces the file with the new name, if one exists, in one atomic step. */
  rename(from: string, to: string, done: Done): void
  syncDir(path: string, done: Done): void

  // A member calls the methods below only at its start, when it may wait.

  /** Creates the folder and its parents, durably. */
  makeDir(path: string): Promise<void>
  /** The names in a folder, sorted. */
  list(path: string): Promise<readonly string[]>
  /** Returns all bytes of a file, or undefined if it does not exist. The caller owns the bytes. */
  read(path: string): Promise<Uint8Array | undefined>
}

export const joinPath = (dir: string, name: string): string => `${dir}/${name}`
