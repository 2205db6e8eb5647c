// Rule: the names of requests, for metrics and spans. Only operations that this build knows have a name, so
// there are few names.

import type { LinkRequest } from './client-messages.js'
import { OP, READ } from './operations.js'

/**
 * An operation's number is below this limit. The limit is a power of two, because opOf keeps the lowest bits
 * of a number that is too large.
 */
export const OPERATION_LIMIT = 128

const OPS = new Map<number, string>(Object.entries(OP).map(([name, op]) => [op, name]))
const READS = new Map<number, string>(Object.entries(READ).map(([name, read]) => [read, name]))

export const commandName = (op: number): string => OPS.get(op) ?? 'other'
export const readName = (read: number): string => READS.get(read) ?? 'other'

/**
 * Returns the number of a command's operation, which is the first element of the packed list. Returns 0 if
 * the bytes are not a command.
 */
export function opOf(body: Uint8Array): number {
  const first = body[0] ?? 0
  if (first >= 0x90 && first <= 0x9f) return (body[1] ?? 0) & (OPERATION_LIMIT - 1)
  return first === 0xdc ? (body[3] ?? 0) & (OPERATION_LIMIT - 1) : 0
}

/** Returns the name of a command, of a read, or of a call about the cluster. */
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
