// Driver: a backup file: the stream of one frozen view (snapshot/stream.ts), complete and synced before it gets its name.

import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { LogPosition } from '@latchkey/raft/core'
import type { SnapshotReader } from '@latchkey/raft/node'
import { LatchkeyError } from '@latchkey/protocol'
import { nodeFiles } from './rows/files.js'

const PIECE_BYTES = 1024 * 1024
const UNFINISHED = '.unfinished'

/** The reader is closed in any case. A file that was there under that name is replaced only by a whole one. */
export async function writeBackup(
  path: string,
  reader: SnapshotReader,
): Promise<{ readonly position: LogPosition; readonly bytes: number }> {
  try {
    const bytes = await writeFile(path + UNFINISHED, reader)
    await nodeFiles.rename(path + UNFINISHED, path)
    await nodeFiles.sync(dirname(path))
    return { position: reader.state.position, bytes }
  } catch (error) {
    await nodeFiles.remove(path + UNFINISHED).catch(() => {})
    if (error instanceof LatchkeyError) throw error
    throw new LatchkeyError(
      'ERR_STORAGE_FAILED',
      `The backup could not be written to ${path}: ${(error as Error).message}. ` +
        'Check the folder, who may write there, and the room on the disk of the member that was asked; then try again.',
      {
        cause: error,
        outcome: 'not-applied',
      },
    )
  } finally {
    reader.close()
  }
}

async function writeFile(path: string, reader: SnapshotReader): Promise<number> {
  const file = await open(path, 'w', 0o600)
  try {
    let bytes = 0
    for (
      let piece = await reader.read(PIECE_BYTES);
      piece !== undefined;
      piece = await reader.read(PIECE_BYTES)
    ) {
      await file.writeFile(piece)
      bytes += piece.length
    }
    await file.sync()
    return bytes
  } finally {
    await file.close()
  }
}
