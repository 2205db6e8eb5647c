// Driver: owns the file that a backup becomes on the caller's own machine, while its pieces come from a member.
//
// Laws
//   - The file gets its name only when it is whole and synced. A backup that fails leaves no file; a process that dies in the middle
//     leaves one that is named `.unfinished`, and nobody takes it for a backup.
//   - A file that was there before is kept, unless `overwrite` is given. That holds also for a file that appears while the backup is
//     under way: the name is given by a hard link, which fails where a rename would replace the other file without a word.
//   - All pieces are of one frozen view at one member. If that view is lost, the backup fails and says so: pieces of two moments
//     would make a file whose checksums are wrong, and it would be noticed only at the restore.

import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { access, type FileHandle, link, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import {
  type BackupOptions,
  callArgs,
  LatchkeyError,
  READ,
  isLatchkeyError,
  knownNames,
  show,
  toBackupPiece,
} from '@latchkey/protocol'
import type { Engine } from '../engine/engine.js'
import { closeView, type OpenView, openView } from './range-iterator.js'

/** Without a timeout a backup goes on as long as pieces come; one that does not come in this time ends it. */
const PIECE_MS = 30_000

const BACKUP_OPTIONS = knownNames('timeout', 'signal', 'overwrite', 'progress')

interface Piece extends OpenView {
  /** null: there are no more. */
  readonly bytes: Uint8Array | null
  readonly total: number
}

export async function backupToFile(engine: Engine, path: unknown, options?: BackupOptions): Promise<void> {
  const given = { path: toPath(path), ...toOptions(options) }
  const call = callArgs('backup', options, null, BACKUP_OPTIONS)
  engine.pass(call)
  if (!given.overwrite) await assertAbsent(given.path)
  const unfinished = `${given.path}.${randomUUID().slice(0, 8)}.unfinished`
  try {
    await writeWhole(unfinished, piecesOf(engine, call), given.progress)
    if (given.overwrite) await rename(unfinished, given.path)
    else await link(unfinished, given.path)
    await syncFolder(dirname(given.path))
  } catch (error) {
    throw toBackupError(error, given.path)
  } finally {
    await rm(unfinished, { force: true }).catch(() => {})
  }
}

async function writeWhole(
  path: string,
  pieces: AsyncIterable<Uint8Array>,
  progress: ((bytes: number) => void) | undefined,
): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    let written = 0
    for await (const piece of pieces) {
      await writeAll(file, piece)
      written += piece.length
      progress?.(written)
    }
    await file.sync()
  } finally {
    await file.close()
  }
}

async function writeAll(file: FileHandle, piece: Uint8Array): Promise<void> {
  for (let at = 0; at < piece.length; ) at += (await file.write(piece, at)).bytesWritten
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** A piece is asked for when the one before is on its way to the disk, so that nothing piles up in this process. */
async function* piecesOf(
  engine: Engine,
  call: ReturnType<typeof callArgs>,
): AsyncGenerator<Uint8Array, undefined> {
  const left = engine.deadlineOf(call)
  let piece: Piece | undefined
  let read = 0
  try {
    while (piece === undefined || piece.bytes !== null) {
      const before: Piece | undefined = piece
      piece = await nextPiece(engine, { ...call, timeout: left() ?? PIECE_MS }, before)
      before?.release()
      if (piece.bytes === null) break
      read += piece.bytes.length
      yield piece.bytes
    }
    if (read !== piece.total)
      throw new LatchkeyError('ERR_PROTOCOL', `The backup came with ${read} bytes of ${piece.total}.`)
  } finally {
    if (piece && piece.view !== 0) closeView(engine, piece)
    piece?.release()
  }
}

function nextPiece(
  engine: Engine,
  call: ReturnType<typeof callArgs>,
  before: Piece | undefined,
): Promise<Piece> {
  return engine.read(
    [READ.backup, before?.view ?? 0],
    false,
    call,
    (result, answered) => {
      const [view, bytes, total] = toBackupPiece(result)
      return { ...openView(engine, view, answered), bytes, total }
    },
    before?.home,
  )
}

// ---- arguments and errors

function toPath(path: unknown): string {
  if (typeof path === 'string' && path !== '') return path
  throw new TypeError(`path must be a string that is not empty; got ${show(path)}`)
}

function toOptions(options: BackupOptions | undefined) {
  const { overwrite = false, progress } = options ?? {}
  if (typeof overwrite !== 'boolean')
    throw new TypeError(`overwrite must be true or false; got ${show(overwrite)}`)
  if (progress !== undefined && typeof progress !== 'function')
    throw new TypeError(`progress must be a function; got ${show(progress)}`)
  return { overwrite, progress }
}

async function assertAbsent(path: string): Promise<void> {
  const isThere = await access(path, constants.F_OK).then(
    () => true,
    () => false,
  )
  if (isThere) throw alreadyThere(path)
}

const alreadyThere = (path: string, cause?: unknown): LatchkeyError =>
  new LatchkeyError(
    'ERR_STORAGE_FAILED',
    `There is a file ${path} already, and a backup never replaces one by itself. Give another name, or ask for it: { overwrite: true }, or --force at the command.`,
    { cause, outcome: 'not-applied' },
  )

function toBackupError(error: unknown, path: string): unknown {
  if (isLatchkeyError(error, 'ERR_COMPACTED'))
    return new LatchkeyError(
      'ERR_COMPACTED',
      'The member that the backup was read from stopped, or the connection to it was lost. Nothing was written. Start the backup again.',
      { cause: error, retryable: true },
    )
  const { code, syscall, message } = error as NodeJS.ErrnoException
  if (error instanceof LatchkeyError || syscall === undefined) return error
  if (code === 'EEXIST') return alreadyThere(path, error)
  return new LatchkeyError(
    'ERR_STORAGE_FAILED',
    `The backup could not be written to ${path}: ${message}. Check the folder, who may write there, and the room on its disk; then try again.`,
    { cause: error, outcome: 'not-applied' },
  )
}
