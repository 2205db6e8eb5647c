// Driver: so many callers, each with its next call behind its last, for a while; every answer checked.

export interface Figures {
  readonly callers: number
  readonly perSecond: number
  /** ms */
  readonly p50: number
  readonly p99: number
  readonly samples: number
  readonly errors: number
}

/** Resolves true when it was really done; anything else counts as an error. */
export type Call = (caller: number, turn: number) => Promise<boolean>

export interface MeasureOptions {
  readonly callers: number
  readonly seconds: number
  readonly warmUpSeconds?: number
}

export async function measure(
  call: Call,
  { callers, seconds, warmUpSeconds = 1 }: MeasureOptions,
): Promise<Figures> {
  const start = performance.now() + warmUpSeconds * 1000
  const end = start + seconds * 1000
  const millis: number[] = []
  let errors = 0
  const caller = async (number: number): Promise<void> => {
    for (let turn = 0; performance.now() < end; turn++) {
      const began = performance.now()
      const done = await call(number, turn).catch(() => false)
      const now = performance.now()
      if (began < start || now > end) continue
      if (done) millis.push(now - began)
      else errors++
    }
  }
  await Promise.all(Array.from({ length: callers }, (_, number) => caller(number)))
  return {
    callers,
    errors,
    samples: millis.length,
    perSecond: Math.round(millis.length / seconds),
    ...quantiles(millis),
  }
}

export function quantiles(millis: readonly number[]): { p50: number; p99: number } {
  const sorted = Float64Array.from(millis).sort()
  const at = (part: number) =>
    Math.round((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0) * 100) / 100
  return { p50: at(0.5), p99: at(0.99) }
}
