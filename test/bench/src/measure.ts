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
  /** By which part of the faster half the rates of the two halves of the counted time differ. */
  readonly halvesDiffer?: number
  /** It was measured twice, and this is the run whose halves differ less. */
  readonly second?: true
}

/** What was counted, call by call. */
export interface Samples {
  /** All calls, those of the warm-up as well. */
  readonly calls: number
  /** How long each counted call took, in ms. */
  readonly millis: readonly number[]
  /** When each of them ended, in ms from the beginning of the counted time. */
  readonly ends: readonly number[]
  readonly errors: number
  readonly firstError?: string
}

export function figuresOf(samples: Samples, callers: number, seconds: number): Figures {
  const { millis, ends, errors, firstError } = samples
  const middle = seconds * 500
  const early = ends.filter((end) => end < middle).length
  const late = ends.length - early
  // A load that counted nothing is measured again like one that was not steady.
  const halvesDiffer = ends.length === 0 ? 1 : round(Math.abs(early - late) / Math.max(early, late), 2)
  return {
    ...{ callers, errors, samples: millis.length, perSecond: Math.round(millis.length / seconds) },
    ...{ ...quantiles(millis), halvesDiffer },
    ...(firstError === undefined ? {} : { firstError }),
  }
}

/** Halves that differ by more were not one load on one machine. */
const STEADY = 0.2

/**
 * Measures a second time what was not steady, such as code that was still being compiled, or a machine that had
 * other work for a while. It tells the steadier one of the two runs, whichever was faster.
 */
export async function steadily<Row extends Figures>(once: () => Promise<Row>): Promise<Row> {
  const first = await once()
  const differ = ({ halvesDiffer = 0 }: Figures) => halvesDiffer
  if (differ(first) <= STEADY) return first
  const second = await once()
  return { ...(differ(second) < differ(first) ? second : first), second: true }
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
  return figuresOf(await samplesOf(call, options), options.callers, options.seconds)
}

export async function samplesOf(call: Call, options: MeasureOptions): Promise<Samples> {
  const { callers, seconds, warmUpSeconds } = options
  const start = performance.now() + warmUpSeconds * 1000
  const end = start + seconds * 1000
  const millis: number[] = []
  const ends: number[] = []
  const faults: string[] = []
  let calls = 0
  const caller = async (number: number): Promise<void> => {
    let began = performance.now()
    for (let turn = 0; began < end; turn++) {
      calls++
      const fault = await faultOf(() => call(number, turn))
      const now = performance.now()
      if (fault !== undefined) {
        faults.push(fault)
        await pause(AFTER_AN_ERROR_MILLIS)
      } else if (now >= start && now <= end) {
        millis.push(now - began)
        ends.push(now - start)
      }
      began = performance.now()
    }
  }
  await Promise.all(Array.from({ length: callers }, (_, number) => caller(number)))
  return { ...{ calls, millis, ends, errors: faults.length }, ...firstOf(faults) }
}

/** What went wrong with a call; undefined: nothing. */
async function faultOf(call: () => Promise<boolean>): Promise<string | undefined> {
  try {
    return (await call()) ? undefined : 'it was not done'
  } catch (error) {
    return error instanceof Error ? `${error.name}: ${error.message}` : JSON.stringify(error)
  }
}

const firstOf = ([firstError]: readonly string[]) => (firstError === undefined ? {} : { firstError })

/**
 * One call each so many milliseconds, for a while; none waits for the one before it, so that a slow call is
 * counted as one, and not as the calls that it has kept back. The first call is counted as well.
 */
export async function paced(call: Call, perSecond: number, seconds: number): Promise<Figures> {
  const count = pacedCount(perSecond, seconds)
  const start = performance.now()
  const millis: number[] = []
  const faults: string[] = []
  const one = async (turn: number): Promise<void> => {
    const began = performance.now()
    const fault = await faultOf(() => call(0, turn))
    if (fault === undefined) millis.push(performance.now() - began)
    else faults.push(fault)
  }
  const calls: Promise<void>[] = []
  for (let turn = 0; turn < count; turn++) {
    await pause(Math.max(0, start + (turn * 1000) / perSecond - performance.now()))
    calls.push(one(turn))
  }
  await Promise.all(calls)
  return pacedFigures({ millis, errors: faults.length, ...firstOf(faults) }, seconds)
}

export const pacedCount = (perSecond: number, seconds: number): number =>
  Math.max(1, Math.floor(perSecond * seconds))

/** Their rate is given, and so says nothing of how steady they were. */
export function pacedFigures(samples: Omit<Samples, 'calls' | 'ends'>, seconds: number): Figures {
  const { millis, errors, firstError } = samples
  return {
    ...{ callers: 1, errors, samples: millis.length, perSecond: round(millis.length / seconds, 1) },
    ...quantiles(millis),
    ...(firstError === undefined ? {} : { firstError }),
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
