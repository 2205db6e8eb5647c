// Rule: the names of requests, for metrics and spans. Unknown operations have the one name 'other', so a
// client cannot add names to the metrics.

import type { LinkRequest } from './client-messages.js'
import { OP, READ } from './command-and-read-wire-types.js'

/** All operations have smaller numbers, so MessagePack writes each number in one byte. */
export const OPERATION_LIMIT = 128

const OPS = new Map<number, string>(Object.entries(OP).map(([name, op]) => [op, name]))
const READS = new Map<number, string>(Object.entries(READ).map(([name, read]) => [read, name]))

export const commandName = (op: number): string => OPS.get(op) ?? 'other'
export const readName = (read: number): string => READS.get(read) ?? 'other'

/**
 * Returns the number of the operation, or 0 if the bytes are not a command. The shortest encoding of a
 * command has one byte for the length of the list and one byte for the operation. A longer encoding also
 * gives 0.
 */
export function opOf(body: Uint8Array): number {
  const [head, op] = [body[0] ?? 0, body[1] ?? 0]
  return head >= 0x90 && head <= 0x9f && op < OPERATION_LIMIT ? op : 0
}

export function operationName(request: Extract<LinkRequest, { kind: 'command' | 'read' | 'admin' }>): string {
  switch (request.kind) {
    case 'command':
      return commandName(opOf(request.body))
    case 'read':
      return readName(request.read[0])
    case 'admin':
      return request.call
  }
}
