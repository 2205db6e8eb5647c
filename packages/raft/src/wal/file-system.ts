// Driver: the port to a file system. The real one is node-file-system.ts, the shipped fake is memory/fs.ts; both pass file-system-suite.ts.
//
// Laws of every implementation:
//   F1  `done` is called exactly once, never before the call has returned.
//   F2  The caller has at most one call under way on a file, and does not read a file while it writes it.
//   F3  What `write` wrote is durable only once a later `sync` of the same file has returned without an error; any part of it
//       may be durable before, in any order.
//   F4  `commit` is `write` and `sync` in one.
//   F5  A name made, changed or removed is durable only once `syncDir` of its folder has returned without an error.
//   F6  After an error of `sync` or `commit` nobody knows what is durable: do not try again, stop.
//   F7  Bytes handed to `write` or `commit` belong to the file system until `done`.

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
  /** What a log should use here when nobody says otherwise: a disk in memory gains nothing from room made ahead. */
  readonly sizes?: { readonly segmentBytes: number; readonly growBytes: number }
  /** Opens for writing. 'create': a new, empty file; a name that is taken is an error. */
  open(path: string, how: 'create' | 'existing', done: Opened): void
  remove(path: string, done: Done): void
  /** Replaces what has the new name, in one step. */
  rename(from: string, to: string, done: Done): void
  syncDir(path: string, done: Done): void

  /** The rest is for boot, when one may wait. */
  /** Makes the folder and those above it, durably. */
  makeDir(path: string): Promise<void>
  /** The names in a folder, sorted. */
  list(path: string): Promise<readonly string[]>
  /** All bytes of a file; undefined when there is none. The caller owns them. */
  read(path: string): Promise<Uint8Array | undefined>
}

export const joinPath = (dir: string, name: string): string => `${dir}/${name}`
