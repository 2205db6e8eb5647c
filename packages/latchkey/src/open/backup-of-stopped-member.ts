// Driver: makes a backup from the directory of a stopped member, for a cluster that has lost its majority for
// ever. `latchkey restore` makes a new cluster from the backup.
//
// Laws
//   OP3  All work is done on a copy, and the directory stays unchanged. Without this law: the lost members come
//        back after all, but this member has applied entries that the others never committed.
//   OP4  The backup becomes a new cluster with an id of its own, never a part of the old cluster. The new
//        cluster's fencing tokens begin 2^32 above all tokens that this member knows (K38). Without this law:
//        two clusters with the same id run and give the same token to two holders, and both holders write.

import { cp, mkdtemp, rm, stat } from 'node:fs/promises'
import { constants } from 'node:fs'
import { uptime } from 'node:os'
import { join } from 'node:path'
import { nextTurn, silentLogger, systemClock } from '@latchkey/base'
import { writeBackup } from '@latchkey/client'
import { classicLevelStorage, KvMachine } from '@latchkey/kv'
import { isLatchkeyError, LatchkeyError } from '@latchkey/protocol'
import { applyWholeLog, type WholeLog } from '@latchkey/raft/node'
import { lockDirectory, nodeFileSystem } from '@latchkey/raft/wal'
import { withDisk } from './disk-errors.js'
import { ownerOf } from './member-json-file.js'

export interface RecoverOptions {
  /** The directory of the member. The member's process must not run. */
  readonly dir: string
  readonly overwrite?: boolean
}

export interface RecoveredMember {
  readonly id: string
  /** `cluster` is the name of the member's cluster, and `clusterId` its random id. */
  readonly cluster: string
  readonly clusterId: string
  readonly voters: readonly string[]
  /**
   * The term and the index of the last entry. If the directories of several members exist, recover the one
   * with the largest term, and among equal terms the largest index. That member has the most entries.
   */
  readonly term: number
  readonly index: number
  /**
   * How many log entries recover() applied to its copy of the state, because the member had not applied them.
   * Perhaps some of these entries were never committed.
   */
  readonly fromLog: number
}

const PIECE_BYTES = 1024 * 1024

/**
 * Resolves when the backup at `path` is complete and synced. A call that rejects writes no file at `path`.
 */
export async function recover(path: string, { dir, overwrite }: RecoverOptions): Promise<RecoveredMember> {
  return withDisk(`${dir} cannot be recovered into ${path}`, async () => {
    if (!(await isFolder(dir))) throw notAMember(dir)
    const clock = systemClock(uptime)
    const lock = await lockDirectory(dir, clock)
    try {
      const owner = await ownerOf(dir)
      if (owner === undefined) throw notAMember(dir)
      const copy = await mkdtemp(`${path}.copy-`)
      try {
        await copyMember(dir, copy)
        const { identity, state, fromLog } = await backUp(path, copy, owner.id, overwrite)
        const { term, index } = state.position
        const { voters } = state.membership
        return { ...owner, clusterId: identity.clusterId, voters, term, index, fromLog }
      } catch (error) {
        throw toRecoverError(error, dir)
      } finally {
        await rm(copy, { recursive: true, force: true })
      }
    } finally {
      await lock.release()
    }
  })
}

async function copyMember(dir: string, copy: string): Promise<void> {
  for (const part of ['state', 'log']) {
    if (!(await isFolder(join(dir, part)))) continue
    await cp(join(dir, part), join(copy, part), { recursive: true, mode: constants.COPYFILE_FICLONE })
  }
}

async function backUp(path: string, copy: string, id: string, overwrite = false): Promise<WholeLog> {
  const clock = systemClock(uptime)
  const machine = new KvMachine({ storage: classicLevelStorage(join(copy, 'state')), clock, nextTurn })
  try {
    const fs = nodeFileSystem()
    const found = await applyWholeLog({
      id,
      machine,
      fs,
      dir: join(copy, 'log'),
      clock,
      logger: silentLogger,
    })
    await writeBackup(path, piecesOf(machine), { overwrite })
    return found
  } finally {
    await machine.close().catch(() => {})
  }
}

async function* piecesOf(machine: KvMachine): AsyncGenerator<Uint8Array, undefined> {
  const snapshot = await machine.snapshot()
  try {
    for (;;) {
      const piece = await snapshot.read(PIECE_BYTES)
      if (piece === undefined) return
      yield piece
    }
  } finally {
    snapshot.close()
  }
}

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )

const notAMember = (dir: string) =>
  new LatchkeyError(
    'ERR_WRONG_CLUSTER',
    `${dir} is not the directory of a member: it has no member.json. Nothing was changed. Give the directory that the member was started with (--dir).`,
  )

/**
 * Changes the advice in an error about damaged files. The usual advice is to remove the member from its
 * cluster and to add it again, but a cluster without a majority cannot do this.
 */
function toRecoverError(cause: unknown, dir: string): unknown {
  if (!isLatchkeyError(cause, 'ERR_CORRUPT')) return cause
  return new LatchkeyError(
    'ERR_CORRUPT',
    `${dir} cannot be recovered: ${cause.message} Nothing was changed. Take the directory of another member that is left, or restore the last backup.`,
    { cause },
  )
}
