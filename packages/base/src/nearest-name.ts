// Rule: finds the known name that a user probably meant by a misspelt name.

/** In characters. A longer text is not compared, because the comparison would be slow. */
const LONGEST = 64

/**
 * Returns the known name that differs from `given` in the fewest letters. At most a third of the name's
 * letters may differ, or one letter in a short name. Returns undefined if no known name is that similar.
 */
export function nearest(given: string, known: readonly string[]): string | undefined {
  if (given.length > LONGEST) return undefined
  const word = given.toLowerCase()
  const near = known
    .map((name) => ({ name, steps: distance(word, name.toLowerCase()) }))
    .filter(({ name, steps }) => steps <= Math.max(1, Math.floor(name.length / 3)))
  return near.toSorted((a, b) => a.steps - b.steps)[0]?.name
}

/** Returns a hint for an error, such as ': did you mean "guard"?', or an empty text. */
export function didYouMean(given: string, known: readonly string[]): string {
  const name = nearest(given, known)
  return name === undefined ? '' : `: did you mean ${JSON.stringify(name)}?`
}

/**
 * Returns how many letters must be replaced, added, removed, or exchanged with the next letter to turn `a`
 * into `b`.
 */
function distance(a: string, b: string): number {
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const other = a[i - 1] === b[j - 1] ? 0 : 1
      let least = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + other)
      const isExchanged = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (isExchanged) least = Math.min(least, (before[j - 2] ?? 0) + 1)
      row.push(least)
    }
    before = last
    last = row
  }
  return last[b.length] ?? 0
}
