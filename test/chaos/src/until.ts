// Driver: waits for what will be, and says what it waited for when it is not.

export const pause = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

/** What `look` finds, as soon as that is not undefined or false; a throw of it counts as not yet. */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
  timeout = 60_000,
): Promise<T> {
  const deadline = performance.now() + timeout
  let last: unknown
  for (;;) {
    try {
      const found = await look()
      if (found !== undefined && found !== false) return found
    } catch (error) {
      last = error
    }
    if (performance.now() > deadline)
      throw new Error(`not within ${timeout} ms: ${what}`, last === undefined ? {} : { cause: last })
    await pause(20)
  }
}
