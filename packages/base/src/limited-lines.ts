// Rule: when a kind of event may have a line in the log again, and how many of its kind there have been.
//
// Law: one line per kind in ten seconds, whatever happens in between; the next line tells how many went without one. Without it the
// story is: a stranger provokes the same refusal a thousand times a second, and the disk is full of lines by the evening.

/** Between two lines of one kind: who can provoke it once can do so all day. */
const LINE_MS = 10_000
/** Whatever may hold a stranger's text is cut here. */
const MOST_CHARACTERS = 200

interface Known {
  count: number
  /** Since the last line, this one included. */
  untold: number
  toldAt: number | undefined
}

export class LimitedLines {
  readonly #known = new Map<string, Known>()

  /** How many there were since the last line, where it is time for one. `kind`: constants of the code only, never what came from outside. */
  note(kind: string, now: number): number | undefined {
    const known = this.count(kind)
    if (known.toldAt !== undefined && now - known.toldAt < LINE_MS) return undefined
    const { untold } = known
    known.toldAt = now
    known.untold = 0
    return untold
  }

  /** One more, that needs no line. */
  count(kind: string): Known {
    const known = this.#known.get(kind) ?? { count: 0, untold: 0, toldAt: undefined }
    this.#known.set(kind, known)
    known.count++
    known.untold++
    return known
  }

  /** How many there have been, by kind. */
  counts(): ReadonlyMap<string, number> {
    return new Map([...this.#known].map(([kind, { count }]) => [kind, count]))
  }
}

/** On one line, and not at length. */
export function shortText(text: string): string {
  // Cut first: what is long is not looked at as a whole.
  const line = text.slice(0, MOST_CHARACTERS * 2).replaceAll(/\s+/g, ' ')
  return line.length > MOST_CHARACTERS || text.length > MOST_CHARACTERS * 2
    ? `${line.slice(0, MOST_CHARACTERS - 1)}…`
    : line
}
