// Rule: results as a test wants to read them: bytes as text.

export function show(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1')
  if (Array.isArray(value)) return value.map(show)
  return value
}
