// Driver: writes a backup to a file of the caller's machine, piece by piece as a member sends it.
//
// Laws
//   - The file gets its final name after all of it was written and synced. A backup that fails leaves no
//     file. If the process dies during the backup, a file whose name ends in `.unfinished` stays.
//   - Without `overwrite`, an existing file is kept, even a file that appears while the backup is being
//     written. A hard link gives the backup its final name, and fails if the name is taken. A rename would
//     replace the existing file without an error.
//   - All pieces come from one view (a snapshot of the data) at one member. If that view is lost, the backup
//     fails with an error. Without this law: the file has pieces of two moments, its checksums are wrong, and
//     nobody notices before the restore.

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

/** In ms. If no timeout is given, a backup may take any time, but each piece must arrive within this time. */
const PIECE_MS = 30_000

const BACKUP_OPTIONS = knownNames('timeout', 'signal', 'overwrite', 'progress')

interface Piece extends OpenView {
  readonly bytes: Uint8Array | null
  readonly total: number
}

export async function backupToFile(engine: Engine, path: unknown, options?: BackupOptions): Promise<void> {
  const given = { path: toPath(path), ...toOptions(options) }
  const call = callArgs('backup', options, null, BACKUP_OPTIONS)
  engine.pass(call)
  await writeBackup(given.path, piecesOf(engine, call), given)
}

export async function writeBackup(
  path: string,
  pieces: AsyncIterable<Uint8Array>,
  { overwrite, progress }: Pick<BackupOptions, 'overwrite' | 'progress'> = {},
): Promise<void> {
  if (!overwrite) await assertAbsent(path)
  const unfinished = `${path}.${randomUUID().slice(0, 8)}.unfinished`
  try {
    await writeWhole(unfinished, pieces, progress)
    if (overwrite) await rename(unfinished, path)
    else await link(unfinished, path)
    await syncFolder(dirname(path))
  } catch (error) {
    throw toBackupError(error, path)
  } finally {
    await rm(unfinished, { force: true }).catch(() => {})
  }
}

/** Yields the pieces of a backup, for a download. */
export const backupPieces = (engine: Engine, signal: AbortSignal): AsyncGenerator<Uint8Array, undefined> =>
  piecesOf(engine, { timeout: undefined, signal })

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

/** Requests a piece after the caller has taken the previous piece, so that at most one piece is in memory. */
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
    before?.viewLink,
  )
}

// ---- Arguments and errors

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
