// Rule: an entry carries a batch of commands as records. Each record is a length (u32le) and then its bytes.
// The node only joins records. A state machine may use another format, if it can split the joined bytes.

import { assert } from '@latchkey/base'

export function frameRecord(bytes: Uint8Array): Buffer {
  const record = Buffer.allocUnsafe(4 + bytes.length)
  record.writeUInt32LE(bytes.length, 0)
  record.set(bytes, 4)
  return record
}

/** Returns views of `data`. Copy the parts that must be kept. */
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
