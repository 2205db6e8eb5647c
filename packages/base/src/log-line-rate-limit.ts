// Rule: counts events by kind, and decides whether an event may write a log line.
//
// Law: each kind of event writes at most `most` lines in `every` ms, which is one line in ten seconds by
// default.
// Without this law: a client causes the same refusal a thousand times a second, and log lines fill the disk.

const LINE_MS = 10_000
/** In characters. A longer text is cut to this length, because the text may come from a client. */
const MOST_CHARACTERS = 200

interface Known {
  count: number
  /** How many events of this kind happened after the last written line. */
  sinceLastLine: number
  /** In ms, the time of the first line of the present period. `lines` counts the lines of this period. */
  periodBegan: number | undefined
  lines: number
}

interface Limit {
  /** How many lines of one kind may be written in one period. */
  readonly most: number
  /** In ms, the length of a period. */
  readonly every: number
}

export class LimitedLines {
  readonly #known = new Map<string, Known>()
  readonly #limit: Limit

  constructor(limit: Limit = { most: 1, every: LINE_MS }) {
    this.#limit = limit
  }

  /**
   * Counts one event. If a line may be written now, returns the number of events since the last written line,
   * else undefined. `kind` must be a constant and never a client's text, because no counter of a kind is ever
   * removed.
   */
  note(kind: string, now: number): number | undefined {
    const known = this.count(kind)
    const { most, every } = this.#limit
    if (known.periodBegan === undefined || now - known.periodBegan >= every) {
      known.periodBegan = now
      known.lines = 0
    }
    if (known.lines >= most) return undefined
    const { sinceLastLine } = known
    known.lines++
    known.sinceLastLine = 0
    return sinceLastLine
  }

  count(kind: string): Known {
    const known = this.#known.get(kind) ?? { count: 0, sinceLastLine: 0, periodBegan: undefined, lines: 0 }
    this.#known.set(kind, known)
    known.count++
    known.sinceLastLine++
    return known
  }

  counts(): ReadonlyMap<string, number> {
    return new Map([...this.#known].map(([kind, { count }]) => [kind, count]))
  }
}

export function shortText(text: string): string {
  const line = text.slice(0, MOST_CHARACTERS * 2).replaceAll(/\s+/g, ' ')
  return line.length > MOST_CHARACTERS || text.length > MOST_CHARACTERS * 2
    ? `${line.slice(0, MOST_CHARACTERS - 1)}…`
    : line
}
