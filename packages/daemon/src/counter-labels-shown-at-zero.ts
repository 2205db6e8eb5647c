// Rule: the labels with which counters are shown as 0 before anything is counted. An operator can then write
// an alert before the first event.

import type { ConnectionHandler, RefusalCount } from '@latchkey/base'

const HANDLERS: Readonly<Record<ConnectionHandler, 0>> = {
  client: 0,
  http: 0,
  upgrade: 0,
  member: 0,
  'dialled member': 0,
}

export const CONNECTION_HANDLERS = Object.keys(HANDLERS) as readonly ConnectionHandler[]

const CODES = ['ERR_UNAUTHORIZED', 'ERR_WRONG_CLUSTER', 'ERR_PROTOCOL']
const MEMBERS = ['refused-us', 'dialled', 'member', 'stranger']

/**
 * The usual reasons of refusals, by the part of the member that refuses. A rare reason appears with its first
 * refusal.
 */
const REASONS: Readonly<Record<string, readonly string[]>> = {
  port: ['clients-full', 'address-full', 'address-gave-way', 'stranger-gave-way', 'silent'],
  http: ['400', '408', '431', 'failed', 'forbidden', 'origin', 'path', 'pipelined', 'unauthorized'],
  clients: [
    ...CODES,
    'frame',
    'origin',
    'reload',
    'slow-reader',
    'slowest-of-all',
    'unfinished-busy',
    'unfinished-slow',
  ],
  members: MEMBERS.flatMap((who) => CODES.map((code) => `${who}-${code}`)),
}

export const KNOWN_REFUSALS: readonly RefusalCount[] = Object.entries(REASONS).flatMap(([door, reasons]) =>
  reasons.map((reason) => ({ door, reason, count: 0 })),
)
