// Rule: small functions that the tests share.

import type { LatchkeyError } from '../../index.js'

export const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values)
export const utf8 = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'utf8'))
export const text = (value: unknown): string => Buffer.from(value as Uint8Array).toString('utf8')
export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
/** Returns the properties of an error with this code, for `toMatchObject`. */
export const code = (name: string, more: Record<string, unknown> = {}) =>
  ({ name: 'LatchkeyError', code: name, ...more }) as const

export async function take<T>(from: AsyncIterator<T>, amount: number): Promise<T[]> {
  const taken: T[] = []
  while (taken.length < amount) {
    const next = await from.next()
    if (next.done) break
    taken.push(next.value)
  }
  return taken
}

export async function all<T>(from: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of from) found.push(item)
  return found
}

/** Waits until the condition is true. The timeout of the test limits the wait. */
export async function until(
  true_: () => boolean | Promise<boolean>,
  pause: () => Promise<void> = () => sleep(10),
): Promise<void> {
  while (!(await true_())) await pause()
}

/** Returns the error that `run` throws, or undefined if it throws none. */
export const thrown = (run: () => unknown): unknown => {
  try {
    run()
  } catch (error) {
    return error
  }
  return undefined
}

/** Resolves to the error with which the call fails. */
export const errorOf = (call: Promise<unknown>): Promise<LatchkeyError> =>
  call.then(
    () => {
      throw new Error('the call succeeded')
    },
    (error: LatchkeyError) => error,
  )

/**
 * Runs `run`, and looks at the clock every few ms until it has ended. `looked` gets the time between two looks,
 * in ms. A long time means that this process stood still.
 */
async function lookingAtTheClock<T>(run: () => Promise<T>, looked: (millis: number) => void): Promise<T> {
  let last = performance.now()
  const look = () => {
    const now = performance.now()
    looked(now - last)
    last = now
  }
  const looking = setInterval(look, 5)
  try {
    return await run()
  } finally {
    clearInterval(looking)
    look()
  }
}

/** In ms: a standstill of this process counts for no more than this time. */
const MOST_OF_A_STANDSTILL = 100

/** Resolves to the time that `run` takes, in ms. A time in which this process stands still does not count. */
export async function activeMillis(run: () => Promise<unknown>): Promise<number> {
  let active = 0
  await lookingAtTheClock(run, (millis) => {
    active += Math.min(millis, MOST_OF_A_STANDSTILL)
  })
  return active
}

/**
 * In ms: a store reads what the error of a wait tells about others within 500 ms, and no longer. A process that
 * stands still for most of this time tells nothing.
 */
export const TOLD_WITHIN = 400

/**
 * Runs a part of a test that may fail if this process stands still for more than `most` ms. If the part fails
 * after such a standstill, it runs again. Any other failure is thrown.
 */
export async function unlessStalled(most: number, run: () => Promise<void>): Promise<void> {
  for (;;) {
    let longest = 0
    try {
      return await lookingAtTheClock(run, (millis) => {
        longest = Math.max(longest, millis)
      })
    } catch (error) {
      if (longest < most) throw error
    }
  }
}
