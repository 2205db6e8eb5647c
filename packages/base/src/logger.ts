// Rule: the interface for log lines, a logger that writes to the console, and a logger that writes nothing.

export interface Logger {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void
  info(message: string, fields?: Readonly<Record<string, unknown>>): void
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void
  error(message: string, fields?: Readonly<Record<string, unknown>>): void
}

const nothing = () => {}
export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing }

const consoleLogger: Logger = {
  ...silentLogger,
  // oxlint-disable-next-line no-console -- where no logger was given, a user has to see what went wrong
  warn: (message, fields) => console.warn(...shown(message, fields)),
  // oxlint-disable-next-line no-console -- the same
  error: (message, fields) => console.error(...shown(message, fields)),
}

const shown = (message: string, fields: Readonly<Record<string, unknown>> = {}): unknown[] =>
  Object.keys(fields).length === 0 ? [`latchkey: ${message}`] : [`latchkey: ${message}`, fields]

export function loggerOption(given: unknown): Logger {
  if (given === undefined) return consoleLogger
  if (given === false) return silentLogger
  const levels = given as Partial<Record<string, unknown>> | null
  for (const level of ['debug', 'info', 'warn', 'error'])
    if (typeof levels?.[level] !== 'function')
      throw new TypeError(`logger must be false, or have the functions debug, info, warn and error`)
  return given as Logger
}
