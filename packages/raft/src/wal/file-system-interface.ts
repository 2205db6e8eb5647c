// Driver: the interface through which the log uses files. node-file-system.ts implements it with node:fs, and
// memory/simulated-disk.ts with a simulated disk. file-system-suite.ts tests both.
//
// Laws of every implementation:
//   F1  Each call calls its `done` exactly once, and never before the call has returned.
//   F2  The caller starts a call on a file only after the earlier call on that file is done. The caller does
//       not read a file while it writes to that file.
//   F3  Written bytes are durable once a later `sync` of the same file has returned without an error. Before
//       that sync, a power loss may keep any part of the bytes.
//   F4  `commit` writes its parts one after another, as if they were one piece, and then syncs the file.
//   F5  The creation, renaming or removal of a file is durable once `syncDir` of its folder has returned
//       without an error.
//   F6  After an error of `sync` or `commit` nobody knows which bytes are durable. So the caller stops, and
//       does not try again.
//   F7  The caller leaves the bytes that it passed to `write` or `commit` unchanged until `done` is called.

export type Done = (error?: Error) => void

export interface File {
  /** If the write begins after the end of the file, the bytes in between are zeros. */
  write(offset: number, bytes: Uint8Array, done: Done): void
  sync(done: Done): void
  commit(offset: number, parts: readonly Uint8Array[], done: Done): void
  truncate(length: number, done: Done): void
  close(done: Done): void
}

export type Opened = (error: Error | undefined, file?: File) => void

export interface FileSystem {
  /**
   * In bytes, the default sizes of the log's files on this file system. A simulated disk has smaller sizes,
   * because preallocated space would cost memory and would not make its writes faster.
   */
  readonly sizes?: { readonly segmentBytes: number; readonly growBytes: number }
  /**
   * Opens a file for writing. 'create' makes an empty file, and fails if the file exists. 'existing' fails if
   * the file does not exist.
   */
  open(path: string, how: 'create' | 'existing', done: Opened): void
  remove(path: string, done: Done): void
  /** Renames a file in one atomic step. An existing file with the new name is replaced. */
  rename(from: string, to: string, done: Done): void
  syncDir(path: string, done: Done): void

  // A member calls the methods below only at its start, so these methods may be slow.

  /** Creates the folder and its missing parent folders, and syncs all of these folders. */
  makeDir(path: string): Promise<void>
  /** The names are sorted. */
  list(path: string): Promise<readonly string[]>
  /** Undefined if the file does not exist. The caller may change the returned bytes. */
  read(path: string): Promise<Uint8Array | undefined>
}

export const joinPath = (dir: string, name: string): string => `${dir}/${name}`
