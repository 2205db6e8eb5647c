// Driver: so many callers, each with its next call behind its last, for a while; every answer checked.

import { pause } from './pause.js'

export interface Figures {
  readonly callers: number
  readonly perSecond: number
  /** ms */
  readonly p50: number
  readonly p99: number
  readonly samples: number
  readonly errors: number
  /** The first of them, for whoever has to find out. */
  readonly firstError?: string
}

/** Resolves true when it was really done; anything else counts as an error. */
export type Call = (caller: number, turn: number) => Promise<boolean>

export interface MeasureOptions {
  readonly callers: number
  readonly seconds: number
  readonly warmUpSeconds: number
}

/** What fails at once shall not keep everybody else from their turn. */
const AFTER_AN_ERROR_MILLIS = 10

export async function measure(call: Call, options: MeasureOptions): Promise<Figures> {
  const { callers, seconds, warmUpSeconds } = options
  const start = performance.now() + warmUpSeconds * 1000
  const end = start + seconds * 1000
  const millis: number[] = []
  let errors = 0
  let firstError: string | undefined
  const caller = async (number: number): Promise<void> => {
    let began = performance.now()
    for (let turn = 0; began < end; turn++) {
      let fault = 'it was not done'
      const done = await call(number, turn).catch((error: unknown) => {
        fault = error instanceof Error ? `${error.name}: ${error.message}` : JSON.stringify(error)
        return false
      })
      const now = performance.now()
      if (done) {
        if (now >= start && now <= end) millis.push(now - began)
      } else {
        errors++
        firstError ??= fault
        await pause(AFTER_AN_ERROR_MILLIS)
      }
      began = performance.now()
    }
  }
  await Promise.all(Array.from({ length: callers }, (_, number) => caller(number)))
  return {
    ...{ callers, errors, samples: millis.length },
    perSecond: Math.round(millis.length / seconds),
    ...quantiles(millis),
    ...(firstError === undefined ? {} : { firstError }),
  }
}

/**
 * One call each so many milliseconds, for a while; none waits for the one before it, so that a slow call is
 * counted as one, and not as the calls that it has kept back. The first call is counted as well.
 */
export async function paced(call: Call, perSecond: number, seconds: number): Promise<Figures> {
  const count = Math.max(1, Math.floor(perSecond * seconds))
  const start = performance.now()
  const millis: number[] = []
  const faults: string[] = []
  const one = async (turn: number): Promise<void> => {
    const began = performance.now()
    try {
      if (await call(0, turn)) millis.push(performance.now() - began)
      else faults.push('it was not done')
    } catch (error) {
      faults.push(error instanceof Error ? `${error.name}: ${error.message}` : JSON.stringify(error))
    }
  }
  const calls: Promise<void>[] = []
  for (let turn = 0; turn < count; turn++) {
    await pause(Math.max(0, start + (turn * 1000) / perSecond - performance.now()))
    calls.push(one(turn))
  }
  await Promise.all(calls)
  return {
    ...{ callers: 1, errors: faults.length, samples: millis.length },
    perSecond: round(millis.length / seconds, 1),
    ...quantiles(millis),
    ...(faults[0] === undefined ? {} : { firstError: faults[0] }),
  }
}

export function quantiles(millis: readonly number[]): { p50: number; p99: number } {
  const sorted = Float64Array.from(millis).sort()
  const at = (part: number) =>
    round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0, 2)
  return { p50: at(0.5), p99: at(0.99) }
}

export function round(value: number, digits = 0): number {
  const factor = 10 ** digits
  return Math.round(value * factor) / factor
}
