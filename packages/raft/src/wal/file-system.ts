// Driver: the port to a file system. The real implementation is node-file-system.ts, the simulated one is
// memory/disk.ts; both pass file-system-suite.ts.
//
// Laws of every implementation:
//   F1  `done` is called exactly once, never before the call has returned.
//   F2  The caller has at most one call under way on a file, and does not read a file while it writes it.
//   F3  What `write` wrote is durable only once a later `sync` of the same file has returned without an
//       error; any part of it may be durable before, in any order.
//   F4  `commit` is `write` and `sync` in one.
//   F5  A file that is created, renamed or removed is so durably only once `syncDir` of its folder has
//       returned without an error.
//   F6  After an error of `sync` or `commit` it is unknown what is durable: do not try again, stop.
//   F7  The caller must not change the bytes that it passed to `write` or `commit` until `done`.

export type Done = (error?: Error) => void

export interface File {
  /** Writes all of `bytes` at `offset`; a file grows as needed, with zeros where nothing was written. */
  write(offset: number, bytes: Uint8Array, done: Done): void
  sync(done: Done): void
  commit(offset: number, bytes: Uint8Array, done: Done): void
  truncate(length: number, done: Done): void
  close(done: Done): void
}

export type Opened = (error: Error | undefined, file?: File) => void

export interface FileSystem {
  /** The default sizes of a log on this file system: preallocated room is of no use to a disk in memory. */
  readonly sizes?: { readonly segmentBytes: number; readonly growBytes: number }
  /** Opens for writing. 'create' makes a new, empty file, and is an error when the name exists. */
  open(path: string, how: 'create' | 'existing', done: Opened): void
  remove(path: string, done: Done): void
  /** Replaces the file with the new name, if there is one, in one atomic step. */
  rename(from: string, to: string, done: Done): void
  syncDir(path: string, done: Done): void

  /** The other methods are for the start of a member, when waiting is allowed. */
  /** Creates the folder and its parents, durably. */
  makeDir(path: string): Promise<void>
  /** The names in a folder, sorted. */
  list(path: string): Promise<readonly string[]>
  /** All bytes of a file; undefined when there is none. The caller owns them. */
  read(path: string): Promise<Uint8Array | undefined>
}

export const joinPath = (dir: string, name: string): string => `${dir}/${name}`
