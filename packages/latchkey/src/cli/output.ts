// Rule: how values are shown. Text that is UTF-8 is text; other bytes are base64 in JSON, under a name that says so.

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** { name: text }, or { nameBase64 } for bytes that are no text; nothing for undefined. */
export function field(name: string, bytes: Uint8Array | undefined): Record<string, string> {
  if (bytes === undefined) return {}
  try {
    return { [name]: decoder.decode(bytes) }
  } catch {
    return { [`${name}Base64`]: Buffer.from(bytes).toString('base64') }
  }
}

export const jsonLine = (value: unknown): string => `${JSON.stringify(value)}\n`

/** Columns of even width, two blanks between. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)))
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, i) => cell.padEnd(widths[i] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('')
}
