// Rule: splits an entry's data into its commands. Each command is a length (u32, little endian), and then its
// bytes. The node joins the bytes of commands as its callers pass them, and never splits the joined bytes. So
// only the callers and the state machine know this format, and another state machine may use another format.

import { assert } from '@latchkey/base'

export function frameRecord(bytes: Uint8Array): Buffer {
  const record = Buffer.allocUnsafe(4 + bytes.length)
  record.writeUInt32LE(bytes.length, 0)
  record.set(bytes, 4)
  return record
}

/** The commands are views of `data`. A caller must copy the bytes that it keeps. */
export function splitRecords(data: Uint8Array): Uint8Array[] {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  const records: Uint8Array[] = []
  for (let at = 0; at < data.length; ) {
    assert(at + 4 <= data.length, 'a record without its length')
    const end = at + 4 + view.getUint32(at, true)
    assert(end <= data.length, 'a record longer than its entry')
    records.push(data.subarray(at + 4, end))
    at = end
  }
  return records
}
