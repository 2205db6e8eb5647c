// Rule: the names of requests, for figures and spans. There are as many names as this build knows.

import type { LinkRequest } from './client-messages.js'
import { OP, READ } from './operations.js'

/** Above every number of a command or a read; a power of two. */
export const HIGHEST_OPERATION = 128

const OPS = new Map<number, string>(Object.entries(OP).map(([name, op]) => [op, name]))
const READS = new Map<number, string>(Object.entries(READ).map(([name, read]) => [read, name]))

export const commandName = (op: number): string => OPS.get(op) ?? 'other'
export const readName = (read: number): string => READS.get(read) ?? 'other'

/** The number of a command, which is the first element of the packed list; 0 where the bytes are something else. */
export function opOf(body: Uint8Array): number {
  const first = body[0] ?? 0
  if (first >= 0x90 && first <= 0x9f) return (body[1] ?? 0) & (HIGHEST_OPERATION - 1)
  return first === 0xdc ? (body[3] ?? 0) & (HIGHEST_OPERATION - 1) : 0
}

/** The name of a command, of a read, or of a call about the cluster. */
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
