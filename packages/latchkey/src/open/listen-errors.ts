// Rule: the error messages when a process cannot listen at an address.

import { LatchkeyError } from '@latchkey/protocol'
import type { Listen } from './options.js'

interface Trouble {
  readonly why: string
  readonly next: string
  readonly passes?: true
}

const OTHER = 'give this member another address'
const FILES: Trouble = {
  why: 'this process or this machine has reached its limit of open files and sockets',
  next: 'Raise the limit (ulimit -n), or try again later',
  passes: true,
}
const NO_SUCH: Trouble = {
  why: 'this machine has no such address',
  next: 'Check the host: it must be an address of this machine, or 0.0.0.0 for all its addresses',
}
const TROUBLES: Readonly<Record<string, Trouble>> = {
  EADDRINUSE: {
    why: 'another process, or another store of this one, listens there',
    next: `Stop the other one, or ${OTHER}`,
    passes: true,
  },
  EACCES: { why: 'this user may not listen there', next: `Take a port above 1023, or ${OTHER}` },
  EPERM: { why: 'this user may not listen there', next: `Take a port above 1023, or ${OTHER}` },
  EADDRNOTAVAIL: NO_SUCH,
  EAFNOSUPPORT: NO_SUCH,
  ENOTFOUND: NO_SUCH,
  EAI_AGAIN: {
    why: 'the name of the host cannot be looked up now',
    next: 'Give the IP address instead of the name',
    passes: true,
  },
  EMFILE: FILES,
  ENFILE: FILES,
}

/** `how` is the option or flag by which the user can choose another address. */
export function cannotListen({ host, port }: Listen, error: NodeJS.ErrnoException, how: string): string {
  const { code = error.message } = error
  const at = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const { why, next } = TROUBLES[code] ?? { why: error.message, next: `Check it, or ${OTHER}` }
  return `cannot listen on ${at}: ${why} (${code}). ${next} (${how}).`
}

/**
 * ERR_BUSY if the address may be free later, and otherwise a TypeError, because the options have a mistake.
 */
export function listenTrouble(listen: Listen, error: NodeJS.ErrnoException): Error {
  const what = cannotListen(listen, error, 'option listen, or the entry of this member in the option members')
  if (TROUBLES[error.code ?? '']?.passes) return new LatchkeyError('ERR_BUSY', what, { cause: error })
  return new TypeError(`listen: ${what}`, { cause: error })
}
