// Rule: the error messages when a process cannot listen at an address.

import { LatchkeyError } from '@latchkey/protocol'
import type { Listen } from './options.js'

interface Trouble {
  readonly why: string
  readonly next: string
  /** True if the same address may be free at a later attempt. */
  readonly passes?: true
}

const OTHER = 'give this member another address'
const FILES: Trouble = {
  why: 'this process or machine has no more files and sockets to give',
  next: 'Raise that limit (ulimit -n), or try again later',
  passes: true,
}
const NO_SUCH: Trouble = {
  why: 'no such address of this machine',
  next: 'Check the host: it is one of the addresses of this machine, or 0.0.0.0 for all of them',
}
const TROUBLES: Readonly<Record<string, Trouble>> = {
  EADDRINUSE: {
    why: 'another process, or another store of this one, listens there',
    next: `Stop that one, or ${OTHER}`,
    passes: true,
  },
  EACCES: { why: 'this user may not listen there', next: `Take a port above 1023, or ${OTHER}` },
  EPERM: { why: 'this user may not listen there', next: `Take a port above 1023, or ${OTHER}` },
  EADDRNOTAVAIL: NO_SUCH,
  EAFNOSUPPORT: NO_SUCH,
  ENOTFOUND: NO_SUCH,
  EAI_AGAIN: { why: 'the name of the host cannot be looked up now', next: 'Give its number', passes: true },
  EMFILE: FILES,
  ENFILE: FILES,
}

/** Returns the message. `how` is the option or flag by which the user can choose another address. */
export function cannotListen({ host, port }: Listen, error: NodeJS.ErrnoException, how: string): string {
  const { code = error.message } = error
  const at = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const { why, next } = TROUBLES[code] ?? { why: error.message, next: `Check it, or ${OTHER}` }
  return `cannot listen on ${at}: ${why} (${code}). ${next} (${how}).`
}

/**
 * Returns the error for open(): ERR_BUSY if the address may be free later, and otherwise a TypeError, because
 * the address is a mistake in the options.
 */
export function listenTrouble(listen: Listen, error: NodeJS.ErrnoException): Error {
  const what = cannotListen(listen, error, 'option listen; without it, the own entry of members')
  if (TROUBLES[error.code ?? '']?.passes) return new LatchkeyError('ERR_BUSY', what, { cause: error })
  return new TypeError(`listen: ${what}`, { cause: error })
}
