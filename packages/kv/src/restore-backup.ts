// Driver: builds a new state from a backup file (docs/locks.md, section 4). The file is read twice. The first
// reading checks the whole file, and the second reading writes the rows.
//
//   kept      data with their ttl, sequences, events, holds (until their deadline), fencing counters,
//             the position in the log, the cluster time, latches with their counts,
//             barriers with the number of their last generation
//   dropped   sessions with their ephemeral keys, kept replies, waiters, waits at latches and barriers
//   raised    the token base: every new fencing token is above it. The new token base is at least 2^32 above
//             every token in the backup. The old cluster may have given tokens after the backup, and the new
//             cluster must not give the same tokens again.

import { open } from 'node:fs/promises'
import { basename } from 'node:path'
import { LatchkeyError } from '@latchkey/protocol'
import type { Membership } from '@latchkey/raft/core'
import type { AppliedState } from '@latchkey/raft/node'
import { META_KEY, spaceOf } from './keyspaces.js'
import type { Row, RowStorage } from './storage/row-store-interface.js'
import { StateStream } from './snapshot/received-state-check.js'
import { decodeCounter } from './state/lock-rows.js'
import { type Meta, encodeMeta } from './state/meta-row.js'

const PIECE_BYTES = 1024 * 1024
const TOKENS_APART = 2 ** 32

interface Restored extends AppliedState {
  readonly revision: number
  readonly tokenBase: number
}

/**
 * Restores a backup into an empty storage. `membership` is the membership of the new cluster. The log of the
 * new cluster starts after the returned `position`. Several members of one cluster may be restored from the
 * same file.
 */
export async function restoreRows(
  path: string,
  storage: RowStorage,
  membership: Membership,
): Promise<Restored> {
  const { meta, lastToken } = await survey(path)
  const there = await storage.open()
  if (there !== undefined) {
    await there.close()
    throw new LatchkeyError(
      'ERR_WRONG_CLUSTER',
      'That directory has a state already. Restore into an empty one.',
    )
  }
  meta.tokenBase = Math.max(meta.tokenBase, lastToken) + TOKENS_APART
  meta.membership = membership
  const builder = await storage.build()
  try {
    await readRows(path, new StateStream(), async (rows) => await builder.write(rows.filter(isKept)))
    await builder.write([{ key: META_KEY, value: encodeMeta(meta) }])
  } catch (error) {
    await builder.abort()
    throw error
  }
  await builder.commit()
  return { position: meta.position, membership, revision: meta.revision, tokenBase: meta.tokenBase }
}

const DROPPED: ReadonlySet<unknown> = new Set(['sessions', 'replies', 'waiters', 'parties'])
const isKept = (row: Row): boolean => !DROPPED.has(spaceOf(row.key))

async function survey(path: string): Promise<{ meta: Meta; lastToken: number }> {
  const stream = new StateStream()
  let lastToken = 0
  await readRows(path, stream, async (rows) => {
    for (const row of rows)
      if (spaceOf(row.key) === 'counters') lastToken = Math.max(lastToken, decodeCounter(row).last)
  })
  try {
    return { meta: stream.finish(), lastToken }
  } catch (error) {
    throw named(error, path)
  }
}

async function readRows(
  path: string,
  stream: StateStream,
  take: (rows: Row[]) => Promise<void>,
): Promise<void> {
  const file = await open(path, 'r')
  try {
    for (;;) {
      // Each piece needs a new buffer, because the frames of earlier pieces are views of the old buffer.
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafeSlow(PIECE_BYTES), 0, PIECE_BYTES, null)
      if (bytesRead === 0) return
      const rows = stream.push(buffer.subarray(0, bytesRead))
      if (rows.length > 0) await take(rows)
    }
  } catch (error) {
    throw named(error, path)
  } finally {
    await file.close()
  }
}

function named(error: unknown, path: string): unknown {
  if (!(error instanceof LatchkeyError) || error.code !== 'ERR_CORRUPT') return error
  return new LatchkeyError('ERR_CORRUPT', `${basename(path)}: ${error.message}`, { cause: error })
}
