// Rule: the description of a command (arguments, options, help), and the parser of its command line.

import { parseArgs } from 'node:util'
import { nearest } from '@latchkey/base'
import { millis } from '@latchkey/protocol'
import type { Io } from './command-io-interface.js'

export interface Option {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  readonly multiple?: true
  /** How the help names the value of the option, for example `NAME`. */
  readonly value?: string
  readonly help: string
}
export type OptionTable = Readonly<Record<string, Option>>

export interface Line {
  readonly options: Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>
  readonly usage: string
  readonly words: readonly string[]
  /** The arguments after `--`. Undefined if the command line has no `--`. */
  readonly rest: readonly string[] | undefined
}

export interface Command {
  readonly name: string
  /** For example 'KEY [VALUE]'. */
  readonly usage: string
  readonly summary: string
  readonly options: OptionTable
  readonly examples: readonly string[]
  readonly notes?: string
  run(line: Line, io: Io): Promise<number>
}

/** The command line is wrong. The exit code is 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

const HELP: OptionTable = { help: { type: 'boolean', short: 'h', help: 'show this help' } }

export function readLine(command: Command, args: readonly string[]): Line {
  const { values, tokens } = parse({ ...command.options, ...HELP }, args)
  const end = tokens.find((token) => token.kind === 'option-terminator')?.index ?? args.length
  const words = tokens.flatMap((token) =>
    token.kind === 'positional' && token.index < end ? [token.value] : [],
  )
  return {
    options: values,
    usage: command.usage,
    words,
    rest: end < args.length ? args.slice(end + 1) : undefined,
  }
}

function parse(options: OptionTable, args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: true, tokens: true })
  } catch (error) {
    throw new UsageError(mistake((error as Error).message, Object.keys(options)), { cause: error })
  }
}

function mistake(message: string, known: readonly string[]): string {
  const [first = 'bad options'] = message.split(/\. |\n/)
  const dashed = /^Option '(--[a-z-]+)[^']*' argument is ambiguous/.exec(first)?.[1]
  if (dashed !== undefined)
    return `${dashed} needs a value; a value that begins with a dash is written ${dashed}=-VALUE`
  const unknown = /^Unknown option '--([^']+)'/.exec(first)?.[1]
  return unknown === undefined ? first : `there is no option --${unknown}${meantOption(unknown, known)}`
}

function meantOption(given: string, known: readonly string[]): string {
  const name = nearest(given, known)
  return name === undefined ? '' : `: did you mean --${name}?`
}

export function text(line: Line, name: string): string | undefined {
  const value = line.options[name]
  return typeof value === 'string' ? value : undefined
}

export const flag = (line: Line, name: string): boolean => line.options[name] === true

export function texts(line: Line, name: string): string[] {
  const value = line.options[name]
  return Array.isArray(value) ? value.filter((part) => typeof part === 'string') : []
}

export function wholeNumber(line: Line, name: string, least: number): number | undefined {
  const value = text(line, name)
  if (value === undefined) return undefined
  const number = Number(value)
  if (/^[0-9]+$/.test(value) && Number.isSafeInteger(number) && number >= least) return number
  throw new UsageError(`--${name} must be a whole number, ${least} or more; got ${JSON.stringify(value)}`)
}

export function positiveNumber(line: Line, name: string): number | undefined {
  const value = text(line, name)
  if (value === undefined) return undefined
  if (/^[0-9]+(\.[0-9]+)?$/.test(value) && Number(value) > 0) return Number(value)
  throw new UsageError(`--${name} must be a positive number; got ${JSON.stringify(value)}`)
}

/**
 * Returns the value of the option in ms. The user writes a number of ms, or a text such as '10s'. Undefined
 * if the option is not given.
 */
export function duration(line: Line, name: string): number | undefined {
  const value = text(line, name)
  return value === undefined ? undefined : millis(withUnit(value), `--${name}`)
}

const withUnit = (value: string): number | string => (/^[1-9][0-9]*$/.test(value) ? Number(value) : value)

/**
 * Returns all arguments that are not options, also those after `--`. Throws a UsageError for fewer than
 * `least` or more than `most` such arguments.
 */
export function words(line: Line, least: number, most: number): readonly string[] {
  const all = [...line.words, ...(line.rest ?? [])]
  if (all.length < least) throw new UsageError(`${nameOf(line.usage, all.length)} is missing`)
  if (all.length > most) throw new UsageError(`unexpected ${JSON.stringify(all[most])}`)
  return all
}

const nameOf = (usage: string, place: number) => usage.split(' ')[place]?.replace('...', '') ?? 'a word'

export function keyWord(key: string | undefined): string {
  if (key !== undefined && key !== '') return key
  throw new UsageError('KEY must not be empty: a key has 1 byte to 4 KiB')
}

export function helpOf({ name, usage, summary, options, examples, notes }: Command): string {
  const rows = Object.entries({ ...options, ...HELP }).map(([option, { short, value, help, multiple }]) => {
    return [
      `${short ? `-${short}, ` : ''}--${option}${value ? ` ${value}` : ''}`,
      multiple ? `${help} (repeatable)` : help,
    ] as const
  })
  const width = Math.max(...rows.map(([left]) => left.length))
  const list = rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}\n`).join('')
  const shown = examples.map((example) => `  ${example}\n`).join('')
  return `${`usage: latchkey ${name} ${usage}`.trimEnd()}\n\n${summary}\n${notes ? `\n${notes}\n` : ''}\noptions:\n${list}\nexamples:\n${shown}`
}
