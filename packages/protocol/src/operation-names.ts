// Rule: gives each request a name, for metrics and spans. All operations that this build does not know have
// the same name, 'other'. So a client that sends unknown operation numbers cannot add names to the metrics.

import type { LinkRequest } from './client-messages.js'
import { OP, READ } from './command-and-read-wire-types.js'

/** The number of every operation is below this limit, so MessagePack writes the number in one byte. */
export const OPERATION_LIMIT = 128

const OPS = new Map<number, string>(Object.entries(OP).map(([name, op]) => [op, name]))
const READS = new Map<number, string>(Object.entries(READ).map(([name, read]) => [read, name]))

export const commandName = (op: number): string => OPS.get(op) ?? 'other'
export const readName = (read: number): string => READS.get(read) ?? 'other'

/**
 * Returns the number of a command's operation. Returns 0 if the bytes are not a command, or if a foreign
 * encoder has written the command in a longer form than necessary. The shortest form has one byte for the
 * head of the list, and one byte for the operation.
 */
export function opOf(body: Uint8Array): number {
  const [head, op] = [body[0] ?? 0, body[1] ?? 0]
  return head >= 0x90 && head <= 0x9f && op < OPERATION_LIMIT ? op : 0
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
