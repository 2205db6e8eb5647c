// Rule: how commands print values. Bytes that are UTF-8 are printed as text. In JSON, other bytes are printed
// in base64, in a field whose name ends with `Base64`.

import type { MemberStatus } from '@latchkey/protocol'

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Bytes that are not UTF-8 get the field name with `Base64` at its end. */
export function field(name: string, bytes: Uint8Array | undefined): Record<string, string> {
  if (bytes === undefined) return {}
  try {
    return { [name]: decoder.decode(bytes) }
  } catch {
    return { [`${name}Base64`]: Buffer.from(bytes).toString('base64') }
  }
}

/**
 * Control characters become escape sequences, because a stored value could otherwise change the terminal of
 * the user.
 */
export function printable(value: string | Uint8Array): string {
  const text = typeof value === 'string' ? value : shownBytes(value)
  // oxlint-disable-next-line no-control-regex -- the pattern looks for control characters
  return /^[^\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]+$/.test(text) ? text : escaped(text)
}

function shownBytes(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes)
  } catch {
    return `base64:${Buffer.from(bytes).toString('base64')}`
  }
}

const escaped = (text: string): string =>
  JSON.stringify(text).replace(
    /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

export const seconds = (millis: number): string => `${(millis / 1000).toFixed(1)} s`

export const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`

/** For example '3 d 4 h'. */
export function span(millis: number): string {
  const whole = Math.floor(millis / 1000)
  const parts = [
    [Math.floor(whole / 86_400), 'd'],
    [Math.floor(whole / 3600) % 24, 'h'],
    [Math.floor(whole / 60) % 60, 'min'],
    [whole % 60, 's'],
  ] as const
  const first = parts.findIndex(([count]) => count > 0)
  const shown = first < 0 ? parts.slice(-1) : parts.slice(first, first + 2)
  return shown.map(([count, unit]) => `${count} ${unit}`).join(' ')
}

export const jsonLine = (value: unknown): string => `${JSON.stringify(value)}\n`

const ESC = String.fromCharCode(27)
const COLOURS = { red: 31, green: 32, yellow: 33, bold: 1 } as const
const PAINTED = new RegExp(`${ESC}\\[[0-9]+m`, 'g')

/** Colours the text if `colours` is true. */
export const paint = (colours: boolean, colour: keyof typeof COLOURS, text: string): string =>
  colours ? `${ESC}[${COLOURS[colour]}m${text}${ESC}[0m` : text

const widthOf = (cell: string): number => cell.replace(PAINTED, '').length
const padded = (cell: string, width: number): string => cell + ' '.repeat(Math.max(0, width - widthOf(cell)))

export function membersTable(members: readonly MemberStatus[], colours: boolean): string {
  const rows = members.map(({ id, url, role, lag, alive }) => [
    id,
    role,
    alive === undefined ? '-' : alive ? paint(colours, 'green', 'yes') : paint(colours, 'red', 'no'),
    lag === undefined ? '-' : String(lag),
    url === '' ? '-' : url,
  ])
  return table([['id', 'role', 'alive', 'lag', 'url'], ...rows])
}

export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => widthOf(row[i] ?? ''))))
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, i) => padded(cell, widths[i] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('')
}
