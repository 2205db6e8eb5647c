// Rule: prints the value of each setting and where the value comes from. Secrets are printed as ***.

import { DEFAULT_LISTEN, SETTING_NAMES, rowOf } from './settings-table.js'
import type { ResolvedSettings } from './setting-values-by-precedence.js'
import { heartbeatFor } from '../open/options.js'

export function configJson(settings: ResolvedSettings): object {
  return Object.fromEntries(
    SETTING_NAMES.map((name) => {
      const { value, source } = settings[name]
      return [rowOf(name).flag, { value: shown(name, value ?? derived(name, settings)) ?? null, source }]
    }),
  )
}

export function configText(settings: ResolvedSettings): string {
  const rows = SETTING_NAMES.map((name) => {
    const { value, source } = settings[name]
    return [rowOf(name).flag, line(shown(name, value ?? derived(name, settings))), source] as const
  })
  const width = (column: 0 | 1) => Math.max(...rows.map((row) => row[column].length))
  const [names, values] = [width(0), width(1)]
  return rows
    .map(([name, value, source]) => `${name.padEnd(names)}  ${value.padEnd(values)}  ${source}\n`)
    .join('')
}

/**
 * Returns the default of `heartbeat` or `listen`, which depends on other settings. Undefined for all other
 * settings.
 */
function derived(name: (typeof SETTING_NAMES)[number], settings: ResolvedSettings): unknown {
  if (name === 'heartbeat') {
    const timeout = settings.electionTimeout.value
    return typeof timeout === 'number' ? heartbeatFor(timeout) : undefined
  }
  if (name !== 'listen') return undefined
  const members = settings.member.value
  if (members === undefined) return DEFAULT_LISTEN
  const own: unknown = Object.entries(members ?? {}).find(([id]) => id === settings.id.value)?.[1]
  return typeof own === 'string' && URL.canParse(own) ? new URL(own).host : undefined
}

function shown(name: (typeof SETTING_NAMES)[number], value: unknown): unknown {
  if (value === undefined || rowOf(name).secret !== true) return value
  return Array.isArray(value) ? value.map(hidden) : '***'
}

/** Hides the token of an entry, but not the rights. */
function hidden(entry: unknown): unknown {
  const rights = typeof entry === 'object' && entry !== null && 'rights' in entry ? entry.rights : undefined
  return Array.isArray(rights) ? `${rights.join('+')}:***` : '***'
}

function line(value: unknown): string {
  if (value === undefined) return '-'
  if (Array.isArray(value)) return value.join(',')
  if (typeof value === 'string') return value
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return Object.entries(value)
    .map(([id, url]) => `${id}=${url}`)
    .join(',')
}
