// Rule: counts the events of each kind, and decides when an event of a kind may write a log line again.
//
// Law: each kind writes at most one line in ten seconds, or in the time that the owner sets. A line reports
// how many events there were since the line before. Without this law: a client causes the same refusal a
// thousand times a second, and the disk is full of log lines by the evening.

/**
 * In ms, the least time between two lines of one kind. A client that can cause one line can cause it without
 * end.
 */
const LINE_MS = 10_000
/** In characters. A longer text is cut at this length, because the text may come from a client. */
const MOST_CHARACTERS = 200

interface Known {
  count: number
  /** How many events there were since the last line, including the event that is being counted. */
  untold: number
  /** When the first line of the present period was written. `told` counts the lines since then. */
  toldAt: number | undefined
  told: number
}

interface Limit {
  /** How many lines of one kind may be written in one period. */
  readonly most: number
  /** In how many milliseconds. */
  readonly every: number
}

export class LimitedLines {
  readonly #known = new Map<string, Known>()
  readonly #limit: Limit

  constructor(limit: Limit = { most: 1, every: LINE_MS }) {
    this.#limit = limit
  }

  /**
   * Counts one event. Returns the number of events since the last line if a line may be written now,
   * else undefined.
   * `kind` must be a constant of the code and never a client's text, because one counter is kept
   * for each kind.
   */
  note(kind: string, now: number): number | undefined {
    const known = this.count(kind)
    const { most, every } = this.#limit
    if (known.toldAt === undefined || now - known.toldAt >= every) {
      known.toldAt = now
      known.told = 0
    }
    if (known.told >= most) return undefined
    const { untold } = known
    known.told++
    known.untold = 0
    return untold
  }

  /** Counts one event that needs no line. */
  count(kind: string): Known {
    const known = this.#known.get(kind) ?? { count: 0, untold: 0, toldAt: undefined, told: 0 }
    this.#known.set(kind, known)
    known.count++
    known.untold++
    return known
  }

  /** Returns the number of events so far, by kind. */
  counts(): ReadonlyMap<string, number> {
    return new Map([...this.#known].map(([kind, { count }]) => [kind, count]))
  }
}

/** Returns the text on one line, cut at the limit. */
export function shortText(text: string): string {
  // The text is cut first, because a search through a very long text would be slow.
  const line = text.slice(0, MOST_CHARACTERS * 2).replaceAll(/\s+/g, ' ')
  return line.length > MOST_CHARACTERS || text.length > MOST_CHARACTERS * 2
    ? `${line.slice(0, MOST_CHARACTERS - 1)}…`
    : line
}
