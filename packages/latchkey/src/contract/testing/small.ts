// Rule: small functions that the tests share.

export const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values)
export const utf8 = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'utf8'))
export const text = (value: unknown): string => Buffer.from(value as Uint8Array).toString('utf8')
export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
/** For `toMatchObject` and `rejects`. */
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

/** Waits until the condition is true; the timeout of the test limits the wait. */
export async function until(
  true_: () => boolean | Promise<boolean>,
  pause: () => Promise<void> = () => sleep(10),
): Promise<void> {
  while (!(await true_())) await pause()
}

/** Returns the error that `run` throws; undefined: none. */
export const thrown = (run: () => unknown): unknown => {
  try {
    run()
  } catch (error) {
    return error
  }
  return undefined
}

/**
 * What a process may rightly fail at that stood still for so long: it is tried again then, and only then. The
 * loop is looked at every few milliseconds meanwhile.
 */
export async function unlessStalled(most: number, run: () => Promise<void>): Promise<void> {
  for (;;) {
    let longest = 0
    let last = performance.now()
    const look = () => {
      longest = Math.max(longest, performance.now() - last)
      last = performance.now()
    }
    const looking = setInterval(look, 5)
    try {
      return await run()
    } catch (error) {
      look()
      if (longest < most) throw error
    } finally {
      clearInterval(looking)
    }
  }
}
