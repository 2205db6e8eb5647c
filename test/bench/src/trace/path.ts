// Rule: from the notes of all processes to the path of one call: the chain of events of which each was needed for the
// next one. It is found from its end: what was the last thing that this process heard before it did this?
//
// Law: the hops of a path add up to the time of its call. Without this: a table of medians of single events, of which
// some lie in the call before and some behind the answer, tells a story that no call has had.

import type { Note } from './hooks.js'

/** A process, its notes in the order of their times, and the port at which others reach it, if it has one. */
export interface Traced {
  readonly name: string
  readonly port?: number
  readonly notes: readonly Note[]
}

/** When a call began and ended, in ns. */
export interface CallTimes {
  readonly began: number
  readonly ended: number
}

export interface Hop {
  readonly what: string
  readonly micros: number
}

interface At {
  readonly who: Traced
  /** The place of the note; the notes before it are the earlier ones. */
  readonly place: number
  readonly nanos: number
}

/** Longer than any path: a walk that does not arrive at the caller's beginning ends here. */
const MOST_HOPS = 40

export class Paths {
  readonly #client: Traced
  readonly #owners: ReadonlyMap<number, Traced>

  constructor(client: Traced, members: readonly Traced[]) {
    this.#client = client
    this.#owners = ownersOf([client, ...members])
  }

  /** Undefined when the notes do not lead back from the answer to the call. */
  of({ began, ended }: CallTimes): Hop[] | undefined {
    const hops: Hop[] = []
    let at: At = { who: this.#client, place: placeBefore(this.#client.notes, ended) + 1, nanos: ended }
    let did = 'the call is answered'
    while (hops.length < MOST_HOPS) {
      const { who } = at
      const cause = causeOf(at)
      if (who === this.#client && (cause === undefined || cause.note.nanos < began)) {
        hops.push({ what: `${who.name}: from the call until ${did}`, micros: (at.nanos - began) / 1000 })
        return hops.toReversed()
      }
      if (cause === undefined) return undefined
      const { note, place } = cause
      const heard = note.kind === 'in' ? 'it hears' : 'its disk is done'
      const source = note.kind === 'in' ? this.#sent(at.who, note) : begun(who, place)
      if (source === undefined) return undefined
      const other = note.kind === 'in' ? ` ${source.who.name}` : ''
      hops.push({
        what: `${who.name}: from where ${heard}${other} until ${did}`,
        micros: (at.nanos - note.nanos) / 1000,
      })
      const way = note.kind === 'in' ? `from ${source.who.name} to ${who.name}` : `${who.name}: its disk`
      hops.push({ what: way, micros: (note.nanos - source.nanos) / 1000 })
      did = note.kind === 'in' ? `it sends to ${who.name}` : 'it writes to its disk'
      at = source
    }
    return undefined
  }

  /** Where the process at the other end sent what was heard here. */
  #sent(to: Traced, heard: Note): At | undefined {
    const who = this.#owners.get(heard.remote)
    if (who === undefined || who === to) return undefined
    for (let place = placeBefore(who.notes, heard.nanos); place >= 0; place--) {
      const { kind, local, remote, nanos } = who.notes[place] as Note
      if (kind === 'out' && local === heard.remote && remote === heard.local) return { who, place, nanos }
    }
    return undefined
  }
}

/** The last thing that the process learned before: bytes that came in, or that its disk is done. */
function causeOf({ who, place }: At): { readonly note: Note; readonly place: number } | undefined {
  for (let i = place - 1; i >= 0; i--) {
    const note = who.notes[i] as Note
    if (note.kind === 'in' || note.kind === 'disk is done') return { note, place: i }
  }
  return undefined
}

/** The log has one write under way at a time: the last one that has begun is the one that is done. */
function begun(who: Traced, done: number): At | undefined {
  for (let place = done - 1; place >= 0; place--) {
    const { kind, nanos } = who.notes[place] as Note
    if (kind === 'disk begins') return { who, place, nanos }
  }
  return undefined
}

/** The last note that is not later. */
function placeBefore(notes: readonly Note[], nanos: number): number {
  let [low, high] = [0, notes.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((notes[middle] as Note).nanos <= nanos) low = middle + 1
    else high = middle
  }
  return low - 1
}

/** Who is at which port: a member at the one that it listens at, and each process at those that it calls from. */
function ownersOf(traced: readonly Traced[]): Map<number, Traced> {
  const owners = new Map<number, Traced>()
  for (const who of traced)
    for (const { local } of who.notes) if (local !== 0 && local !== who.port) owners.set(local, who)
  for (const who of traced) if (who.port !== undefined) owners.set(who.port, who)
  return owners
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? 0
}

export interface Shape {
  readonly hops: readonly Hop[]
  /** How many calls have had this path. */
  readonly calls: number
}

/** The path that most calls have had, with the median of each hop. */
export function mostCommon(paths: readonly (readonly Hop[])[]): Shape | undefined {
  const shapes = new Map<string, (readonly Hop[])[]>()
  for (const path of paths) {
    const name = path.map(({ what }) => what).join('\n')
    shapes.set(name, [...(shapes.get(name) ?? []), path])
  }
  const [most] = [...shapes.values()].toSorted((a, b) => b.length - a.length)
  const hops = most?.[0]?.map(({ what }, i) => ({
    what,
    micros: median(most.map((path) => (path[i] as Hop).micros)),
  }))
  return most === undefined || hops === undefined ? undefined : { hops, calls: most.length }
}
