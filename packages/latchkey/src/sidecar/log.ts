// Driver: owns the log: one JSON object a line. No secret gets out, wherever in a line it stands.

import { codePlace, type Logger, shortText } from '@latchkey/base'
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
  const describe = level === 'debug' ? describeWhole : describeShort
  const plain = (fields: Fields = {}) => plainFields(fields, describe)
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

type Fields = Readonly<Record<string, unknown>>

/** An error has no fields of its own that JSON would show. */
function plainFields(fields: Fields, describe: (error: Error) => object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, value instanceof Error ? describe(value) : value]),
  )
}

/** What has a code is expected, and says what to do. Anything else is a mistake of ours, and shows where in the code it was. */
function describeShort(error: Error): object {
  const { name } = error
  const more = 'code' in error ? { code: error.code } : { at: codePlace(error) }
  return { name, ...more, message: shortText(error.message) }
}

function describeWhole(error: Error): object {
  const code = 'code' in error ? { code: error.code } : {}
  return { name: error.name, ...code, message: error.message, stack: error.stack }
}
