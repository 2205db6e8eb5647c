// Door: encodes and decodes the two slots of the durable mark's file. The slot with the higher sequence
// number is current. Recovery accepts one damaged slot, and refuses two (D3).

import { asBuffer, checksum } from '@latchkey/base'
import { getU64, putU64 } from './little-endian-bytes.js'
import { MARK_MAGIC, MARK_SLOT_AT, MARK_SLOT_BYTES, type LogOwner, VERSION } from './disk-format.js'

/**
 * The content of one slot. It says that all bytes of the log before the offset `reach` were synced. So a log
 * that is shorter or damaged before `reach` has lost data.
 */
export interface DurableMark extends LogOwner {
  readonly sequence: number
  /**
   * The number of the log's first segment. A segment file with a lower number is a leftover of a removal that
   * a crash interrupted.
   */
  readonly first: number
  /** In bytes from the log's beginning: all records before this offset are durable. */
  readonly reach: number
  readonly checksum: number
}

export type MarkRead =
  | { readonly type: 'absent' }
  | { readonly type: 'unreadable' }
  | { readonly type: 'newer'; readonly version: number }
  /**
   * `slot` is the number of the slot to write next: the damaged slot, or the newer slot if both are readable.
   * The last write of the newer slot may be unsynced. So the next write must not touch the older slot, which
   * is durable.
   */
  | { readonly type: 'mark'; readonly mark: DurableMark; readonly slot: 0 | 1 }

export function putMark(buffer: Buffer, at: number, mark: DurableMark): void {
  buffer.fill(0, at, at + MARK_SLOT_BYTES)
  buffer.write(MARK_MAGIC, at, 'latin1')
  buffer.writeUInt32LE(VERSION, at + 8)
  buffer.writeUInt32LE(mark.group, at + 12)
  putU64(buffer, at + 16, mark.sequence)
  putU64(buffer, at + 24, mark.first)
  putU64(buffer, at + 32, mark.reach)
  buffer.writeUInt32LE(mark.checksum, at + 40)
  buffer.writeUInt32LE(mark.owner, at + 44)
  buffer.writeUInt32LE(checksum(buffer.subarray(at, at + 60)), at + 60)
}

export function readMark(bytes: Uint8Array | undefined): MarkRead {
  if (bytes === undefined) return { type: 'absent' }
  const slots = [readSlot(asBuffer(bytes), 0), readSlot(asBuffer(bytes), 1)]
  const newer = slots.find((slot) => slot.type === 'newer')
  if (newer !== undefined) return newer
  const [one, two] = slots as [MarkRead, MarkRead]
  if (one.type !== 'mark') return two.type === 'mark' ? { ...two, slot: 0 } : two
  if (two.type !== 'mark') return { ...one, slot: 1 }
  return two.mark.sequence > one.mark.sequence ? two : one
}

function readSlot(buffer: Buffer, slot: 0 | 1): MarkRead {
  const at = MARK_SLOT_AT[slot]
  if (buffer.length < at + MARK_SLOT_BYTES) return { type: 'unreadable' }
  if (checksum(buffer.subarray(at, at + 60)) !== buffer.readUInt32LE(at + 60)) return { type: 'unreadable' }
  if (buffer.toString('latin1', at, at + 8) !== MARK_MAGIC) return { type: 'unreadable' }
  const version = buffer.readUInt32LE(at + 8)
  if (version !== VERSION) return { type: 'newer', version }
  const mark = {
    group: buffer.readUInt32LE(at + 12),
    sequence: getU64(buffer, at + 16),
    first: getU64(buffer, at + 24),
    reach: getU64(buffer, at + 32),
    checksum: buffer.readUInt32LE(at + 40),
    owner: buffer.readUInt32LE(at + 44),
  }
  return { type: 'mark', mark, slot }
}
