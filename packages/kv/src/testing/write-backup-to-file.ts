// Test: writes a whole backup to a file, as a client does.

import { writeFileSync } from 'node:fs'
import { type BackupResult, READ } from '@latchkey/protocol'
import type { KvMachine } from '../key-value-state-machine.js'

async function backupOf(machine: KvMachine): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  let view = 0
  do {
    const [next, piece, total] = (await machine.read([READ.backup, view])) as BackupResult
    if (piece !== null) pieces.push(piece)
    if (next === 0 && Buffer.concat(pieces).length !== total) throw new Error('a piece is missing')
    view = next
  } while (view !== 0)
  return Buffer.concat(pieces)
}

export async function writeBackup(machine: KvMachine, path: string): Promise<void> {
  writeFileSync(path, await backupOf(machine))
}
