// Rule: formats keys, values, durations and numbers for the page.

/** A key or a name as the member sends it: as text, or in base64 if its bytes are not UTF-8. */
export interface SentKey {
  readonly key?: string
  readonly keyBase64?: string
}

const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** Replaces invisible characters by escape sequences. Otherwise two different keys could look the same. */
export const visible = (text: string): string =>
  text.replace(UNSEEN, (unit) => `\\u${(unit.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`)

export const bytesOf = (base64: string): Uint8Array =>
  Uint8Array.from(atob(base64), (unit) => unit.charCodeAt(0))

export const hexOf = (bytes: Uint8Array): string =>
  [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')

/** Returns the key percent-encoded, for URLs of the page and of the member. */
export function encodedKey({ key, keyBase64 }: SentKey): string {
  return encodedBytes(keyBase64 === undefined ? new TextEncoder().encode(key ?? '') : bytesOf(keyBase64))
}

export function encodedBytes(bytes: Uint8Array): string {
  return [...bytes].map((byte) => PLAIN[byte] ?? `%${hexOf(Uint8Array.of(byte)).toUpperCase()}`).join('')
}

const PLAIN: Readonly<Record<number, string>> = Object.fromEntries(
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.'
    .split('')
    .map((unit) => [unit.charCodeAt(0), unit]),
)

/** A user may have typed the URL, so every text is accepted. */
export function decodedKey(encoded: string): Uint8Array {
  const bytes: number[] = []
  for (let at = 0; at < encoded.length; at += 1) {
    const hex = encoded[at] === '%' ? Number.parseInt(encoded.slice(at + 1, at + 3), 16) : Number.NaN
    if (Number.isNaN(hex)) bytes.push(...new TextEncoder().encode(encoded[at]))
    else {
      bytes.push(hex)
      at += 2
    }
  }
  return Uint8Array.from(bytes)
}

export const shownKey = (encoded: string): string => shownBytes(decodedKey(encoded))

function shownBytes(bytes: Uint8Array): string {
  const text = textOf(bytes)
  return text === undefined ? `0x${hexOf(bytes)}` : visible(text)
}

export function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

export function shownHolder(row: { id: string; context?: string; contextBase64?: string }): string {
  if (row.context !== undefined && row.context !== '') return visible(row.context)
  if (row.contextBase64 !== undefined) return shownBytes(bytesOf(row.contextBase64))
  return visible(row.id)
}

export function duration(millis: number): string {
  const seconds = Math.max(0, millis) / 1000
  if (seconds < 10) return `${seconds.toFixed(1)} s`
  if (seconds < 120) return `${Math.floor(seconds)} s`
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} h`
  return `${Math.floor(seconds / 86_400)} days`
}

const NUMBERS = new Intl.NumberFormat('en')
export const whole = (value: number): string => NUMBERS.format(Math.round(value))

export function latency(seconds: number | undefined): string {
  if (seconds === undefined) return '–'
  const millis = seconds * 1000
  if (millis >= 1000) return `${seconds.toFixed(1)} s`
  return millis < 10 ? `${millis.toFixed(1)} ms` : `${Math.round(millis)} ms`
}

export function size(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit += 1
  }
  return `${unit === 0 ? whole(value) : value.toFixed(value < 10 ? 1 : 0)} ${units[unit]}`
}
