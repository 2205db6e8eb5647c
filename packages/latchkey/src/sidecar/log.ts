// Driver: owns the log: one JSON object a line. No secret gets out, wherever in a line it stands.

import type { Logger } from '@latchkey/base'
import { pino } from 'pino'
import type { LogLevel } from './options.js'

/** Shorter ones would blank out common words, and are no secrets. */
const SHORTEST = 4

export function jsonLogger(
  level: LogLevel,
  secrets: () => readonly string[],
  write: (line: string) => void,
): Logger {
  let known: readonly string[] | undefined
  let hidden: readonly string[] = []
  const scrub = (line: string) => {
    const now = secrets()
    if (now !== known) hidden = hiddenOf(now)
    known = now
    return hidden.reduce((text, secret) => text.replaceAll(secret, '***'), line)
  }
  const log = pino(
    {
      level,
      base: undefined,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line) => write(scrub(line)) },
  )
  return {
    debug: (message, fields) => log.debug(plain(fields), message),
    info: (message, fields) => log.info(plain(fields), message),
    warn: (message, fields) => log.warn(plain(fields), message),
    error: (message, fields) => log.error(plain(fields), message),
  }
}

/** The longest first: one may be a part of another. */
const hiddenOf = (secrets: readonly string[]): string[] =>
  secrets
    .filter((secret) => secret.length >= SHORTEST)
    .flatMap(forms)
    .toSorted((a, b) => b.length - a.length)

/** A secret as it is and as it stands in JSON. */
function forms(secret: string): string[] {
  const quoted = JSON.stringify(secret).slice(1, -1)
  return quoted === secret ? [secret] : [quoted, secret]
}

/** An error has no fields of its own that JSON would show. */
function plain(fields: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      value instanceof Error ? describeError(value) : value,
    ]),
  )
}

function describeError(error: Error): object {
  const code = 'code' in error ? { code: error.code } : {}
  return { name: error.name, ...code, message: error.message, stack: error.stack }
}
