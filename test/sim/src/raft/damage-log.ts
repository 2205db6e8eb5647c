// Driver: changes one bit of a log in front of its durable mark. The member has promised that all these bytes
// are on disk.

import type { MemoryDisk } from '@latchkey/raft/memory'
import { MARK_NAME, segmentName } from '../../../../packages/raft/dist/wal/disk-format.js'
import { readMark } from '../../../../packages/raft/dist/wal/durable-mark-slot.js'
import { readPreamble } from '../../../../packages/raft/dist/wal/segment-preamble.js'

interface Covered {
  readonly path: string
  readonly length: number
}

/** `place` and `bit` are numbers in [0, 1). Returns false if the log has not promised any byte. */
export function rot(disk: MemoryDisk, place: number, bit: number): boolean {
  const files = coveredFiles(disk)
  const total = files.reduce((sum, { length }) => sum + length, 0)
  let at = Math.floor(place * total)
  for (const { path, length } of files) {
    if (at < length) {
      disk.flipBit(path, at * 8 + Math.floor(bit * 8))
      return true
    }
    at -= length
  }
  return false
}

function coveredFiles(disk: MemoryDisk): readonly Covered[] {
  const paths = disk.paths()
  const markPath = `log/${MARK_NAME}`
  const read = paths.includes(markPath) ? readMark(disk.bytes(markPath)) : undefined
  if (read?.type !== 'mark') return []
  const { first, reach } = read.mark
  const files: Covered[] = []
  for (let number = first; ; number++) {
    const path = `log/${segmentName(number)}`
    const base = baseOf(disk, path)
    if (base === undefined || base >= reach) return files
    const next = baseOf(disk, `log/${segmentName(number + 1)}`) ?? reach
    files.push({ path, length: Math.min(next, reach) - base })
  }
}

function baseOf(disk: MemoryDisk, path: string): number | undefined {
  if (!disk.paths().includes(path)) return undefined
  const read = readPreamble(Buffer.from(disk.bytes(path)))
  return read.type === 'preamble' ? read.preamble.base : undefined
}
