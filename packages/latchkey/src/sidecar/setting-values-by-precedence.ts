// Rule: finds the value of each setting. A flag has precedence over a LATCHKEY_* variable, a variable over
// the configuration file, and the file over the default.

import { type Duration, millis } from '@latchkey/protocol'
import type { TokenEntry } from '../member/identity-and-rights.js'
import { parseToken } from '../open/parse-token-with-rights.js'
import { SETTING_NAMES, type SettingName, type SettingRow, rowOf, variableOf } from './settings-table.js'

/** The configuration is wrong. The exit code is 78. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

export interface Sources {
  /** The parsed flags by name. A value is a text, a list of texts, or true. */
  readonly flags: Readonly<Record<string, unknown>>
  readonly env: Readonly<Record<string, string | undefined>>
  readonly file?: { readonly path: string; readonly text: string } | undefined
}

interface Setting {
  readonly value: unknown
  /** `flag --x`, `env LATCHKEY_X`, `file PATH` or `default`. */
  readonly source: string
}
export type ResolvedSettings = Readonly<Record<SettingName, Setting>>

export function resolveSettings({ flags, env, file }: Sources): ResolvedSettings {
  const written = file === undefined ? undefined : readFile(file.path, file.text)
  const pairs = SETTING_NAMES.map((name) => {
    const row = rowOf(name)
    return [name, pick(row, flags, env, written, file?.path)] as const
  })
  return Object.fromEntries(pairs) as Record<SettingName, Setting>
}

function pick(
  row: SettingRow,
  flags: Sources['flags'],
  env: Sources['env'],
  written: ReadonlyMap<string, unknown> | undefined,
  path: string | undefined,
): Setting {
  const variable = variableOf(row.flag)
  const flag = flags[row.flag]
  if (flag !== undefined) return { value: fromText(row, flag, `--${row.flag}`), source: `flag --${row.flag}` }
  const text = env[variable]
  if (text !== undefined && text !== '')
    return { value: fromText(row, listed(row, text), variable), source: `env ${variable}` }
  if (written?.has(row.place))
    return { value: fromFile(row, written.get(row.place), path), source: `file ${path}` }
  return { value: row.fallback, source: 'default' }
}

const listed = (row: SettingRow, text: string): unknown =>
  row.kind === 'list' || row.kind === 'members' || row.kind === 'tokens'
    ? text
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== '')
    : text

function fromText(row: SettingRow, given: unknown, name: string): unknown {
  switch (row.kind) {
    case 'text':
      return given
    case 'list':
      return given
    case 'number':
      return numberOf(given, name)
    case 'millis':
      return millisOf(given, name)
    case 'yes-no':
      return yesNo(given, name)
    case 'members':
      return parseMembers(given as readonly string[], name)
    case 'tokens':
      return (given as readonly string[]).map((text) => tokenOf(text, name))
  }
}

function numberOf(given: unknown, name: string): number {
  const value = typeof given === 'string' && /^[0-9]+(\.[0-9]+)?$/.test(given) ? Number(given) : given
  if (typeof value === 'number' && Number.isFinite(value)) return value
  throw new ConfigError(`${name} must be a number; got ${JSON.stringify(given)}`)
}

function millisOf(given: unknown, name: string): number {
  const value = typeof given === 'string' && /^[1-9][0-9]*$/.test(given) ? Number(given) : given
  try {
    return millis(value as Duration, name)
  } catch (error) {
    throw new ConfigError((error as Error).message, { cause: error })
  }
}

function yesNo(given: unknown, name: string): boolean {
  if (given === true || given === 'true' || given === '1') return true
  if (given === false || given === 'false' || given === '0') return false
  throw new ConfigError(`${name} must be true or false; got ${JSON.stringify(given)}`)
}

export function parseMembers(given: readonly string[], name: string): Record<string, string> {
  const members: Record<string, string> = {}
  for (const text of given) {
    const at = text.indexOf('=')
    const id = text.slice(0, at)
    if (at <= 0)
      throw new ConfigError(
        `${name} must be ID=URL, such as a=ws://127.0.0.1:7001; got ${JSON.stringify(text)}`,
      )
    const url = text.slice(at + 1)
    // The same id may occur twice with the same address, because a template may list all members and then
    // this member again.
    if (Object.hasOwn(members, id) && members[id] !== url)
      throw new ConfigError(`${name}: ${JSON.stringify(id)} is named twice, with two addresses`)
    members[id] = url
  }
  return members
}

function tokenOf(text: string, name: string): TokenEntry {
  try {
    return parseToken(text, name)
  } catch (error) {
    throw new ConfigError((error as Error).message, { cause: error })
  }
}

function readFile(path: string, text: string): ReadonlyMap<string, unknown> {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    throw new ConfigError(`${path} is not JSON${placeOf(error)}`)
  }
  const places = new Map<string, SettingRow>(SETTING_NAMES.map((name) => [rowOf(name).place, rowOf(name)]))
  const found = new Map<string, unknown>()
  const visit = (value: unknown, prefix: string): void => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new ConfigError(`${path}: ${prefix === '' ? 'it' : prefix.slice(0, -1)} must be an object`)
    }
    for (const [name, inner] of Object.entries(value)) {
      const place = `${prefix}${name}`
      if (places.has(place)) found.set(place, inner)
      else if ([...places.keys()].some((known) => known.startsWith(`${place}.`))) visit(inner, `${place}.`)
      else throw new ConfigError(`${path}: unknown key ${JSON.stringify(place)}`)
    }
  }
  visit(json, '')
  return found
}

/**
 * Returns the position of the mistake in the JSON text. The error's whole message must not be shown, because
 * a piece of the JSON text in it may contain a token.
 */
function placeOf(error: unknown): string {
  const place = /at position [0-9]+(?: \(line [0-9]+ column [0-9]+\))?/.exec((error as Error).message)?.[0]
  return place === undefined ? '' : `: the mistake is ${place}`
}

function fromFile(row: SettingRow, value: unknown, path: string | undefined): unknown {
  const name = `${path}: ${JSON.stringify(row.place)}`
  switch (row.kind) {
    case 'text':
      if (typeof value === 'string') return value
      throw new ConfigError(`${name} must be a text`)
    case 'number':
      return typeof value === 'number' ? value : numberOf(Number.NaN, name)
    case 'millis':
      return millisOf(value, name)
    case 'yes-no':
      if (typeof value === 'boolean') return value
      throw new ConfigError(`${name} must be true or false`)
    case 'list':
      if (typeof value === 'string') return [value]
      if (Array.isArray(value) && value.every((part) => typeof part === 'string')) return value
      throw new ConfigError(`${name} must be a text, or a list of texts`)
    // open() checks these values later.
    case 'members':
    case 'tokens':
      return value
  }
}
