// Driver: writes the log, one JSON object on each line. Secrets of at least four characters are replaced
// wherever they occur in a line.

import { codePlace, type Logger, shortText } from '@latchkey/base'
import { pino } from 'pino'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/** In characters. A shorter secret is not hidden, because common words may contain its text. */
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

/**
 * Returns the texts to hide, the longest first. If a short secret that is a part of a long secret were
 * replaced first, the rest of the long secret would stay visible.
 */
const hiddenOf = (secrets: readonly string[]): string[] =>
  secrets
    .filter((secret) => secret.length >= SHORTEST)
    .flatMap(forms)
    .toSorted((a, b) => b.length - a.length)

function forms(secret: string): string[] {
  const quoted = JSON.stringify(secret).slice(1, -1)
  return quoted === secret ? [secret] : [quoted, secret]
}

type Fields = Readonly<Record<string, unknown>>

/** Replaces each error by an object with its texts, because JSON.stringify writes an error as {}. */
function plainFields(fields: Fields, describe: (error: Error) => object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, value instanceof Error ? describe(value) : value]),
  )
}

/**
 * An error with a code is expected, and its message is enough. Any other error is a bug, so the line also
 * names the place in the code.
 */
function describeShort(error: Error): object {
  const { name } = error
  const more = 'code' in error ? { code: error.code } : { at: codePlace(error) }
  return { name, ...more, message: shortText(error.message) }
}

function describeWhole(error: Error): object {
  const code = 'code' in error ? { code: error.code } : {}
  return { name: error.name, ...code, message: error.message, stack: error.stack }
}
