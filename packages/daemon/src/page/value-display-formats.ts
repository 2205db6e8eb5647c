// Rule: converts the bytes of a value to the forms that the page shows: text, JSON, MessagePack and hex.

import { readMessagePack } from './msgpack-decoder-for-display.js'
import { bytesOf, hexOf, textOf, visible } from './key-and-number-formatting.js'

export interface SentValue {
  readonly text?: string
  readonly base64?: string
}

export type Form = 'text' | 'JSON' | 'MessagePack' | 'hex'
export const FORMS: readonly Form[] = ['text', 'JSON', 'MessagePack', 'hex']

/**
 * In bytes. The page shows only the beginning of a longer value, because a long text would make the page
 * slow.
 */
export const MOST_SHOWN = 64 * 1024

const valueBytes = ({ text, base64 }: SentValue): Uint8Array =>
  base64 === undefined ? new TextEncoder().encode(text ?? '') : bytesOf(base64)

export function inForm(bytes: Uint8Array, form: Form): string | undefined {
  if (form === 'hex') return hexLines(bytes)
  if (form === 'text') return textOf(bytes)?.replaceAll('\r\n', '\n').split('\n').map(visible).join('\n')
  const read = form === 'JSON' ? parsed(textOf(bytes)) : readMessagePack(bytes)
  return read === undefined ? undefined : written(read.value)
}

/**
 * The bytes below 0x20 that a text may have: tab, line feed, vertical tab, form feed and carriage return. If
 * a value has any other byte below 0x20, `bestForm` does not choose the form 'text'.
 */
const TEXT: ReadonlySet<number> = new Set([9, 10, 11, 12, 13])

/** Returns the form that a person can read best. A single number is shown as text. */
export function bestForm(bytes: Uint8Array): Form {
  const json = parsed(textOf(bytes))
  if (json !== undefined && typeof json.value === 'object' && json.value !== null) return 'JSON'
  const text = textOf(bytes)
  if (text !== undefined && bytes.every((byte) => byte > 0x1f || TEXT.has(byte))) return 'text'
  return readMessagePack(bytes) === undefined ? 'hex' : 'MessagePack'
}

export function preview(value: SentValue): string {
  const bytes = valueBytes(value)
  const form = bestForm(bytes)
  const shown = form === 'hex' ? `0x${hexOf(bytes.subarray(0, 64))}` : (inForm(bytes, form) ?? '')
  const line = form === 'text' ? shown : shown.replace(/\s+/g, ' ')
  return line.length > MOST_OF_LINE ? `${line.slice(0, MOST_OF_LINE)}…` : line
}

const MOST_OF_LINE = 160

function parsed(text: string | undefined): { value: unknown } | undefined {
  if (text === undefined) return undefined
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return undefined
  }
}

function written(value: unknown): string {
  const plain = (_: string, part: unknown): unknown => {
    if (typeof part === 'bigint') return part.toString()
    if (part instanceof Uint8Array) return `0x${hexOf(part)}`
    return part instanceof Map ? Object.fromEntries(part) : part
  }
  const text = JSON.stringify(value, plain, 2) ?? 'nothing'
  return text.split('\n').map(visible).join('\n')
}

function hexLines(bytes: Uint8Array): string {
  const lines: string[] = []
  for (let at = 0; at < bytes.length; at += 16) {
    const part = bytes.subarray(at, at + 16)
    const hex = [...part].map((byte) => byte.toString(16).padStart(2, '0')).join(' ')
    const text = [...part].map((byte) => (byte > 0x1f && byte < 0x7f ? String.fromCharCode(byte) : '.'))
    lines.push(`${at.toString(16).padStart(8, '0')}  ${hex.padEnd(47)}  ${text.join('')}`)
  }
  return lines.join('\n')
}
