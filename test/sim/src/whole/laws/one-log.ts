// Rule: the one log that all members apply, as it was first seen, and what every other application of it must
// agree with.
//
// Laws
//   - One index, one entry: the same term, time and bytes on every member and in every life.
//   - One entry, the same answers: apply decides alike everywhere, and again after a restart (A1, A2).
//   - At equal positions the states' hashes are equal, by key space (A10).
//   - CT1: along the log the time never goes back. CT2: it never runs ahead of true time by more than the
//     drift allows.

import { checksum } from '@latchkey/base'
import type { StateHash } from '@latchkey/kv'
import type { Applied } from '@latchkey/raft/node'
import type { Entry } from '@latchkey/raft/core'
import { LawBroken } from '../../laws/verdict.js'

interface Line {
  readonly term: number
  readonly time: number
  readonly bytes: number
  answers: number | undefined
  readonly by: string
  hash: StateHash | undefined
}

export class OneLog {
  readonly #lines: (Line | undefined)[] = []
  readonly #stamps = new Map<string, number>()
  readonly #drift: number
  /** The least of time - (1 + drift) * stamped, of all entries so far: no later one may be above it. */
  #least = Number.POSITIVE_INFINITY
  #lastTime = 0
  #last = { term: 0, time: 0, at: 0 }

  constructor(drift: number) {
    this.#drift = drift
  }

  get length(): number {
    return Math.max(0, this.#lines.length - 1)
  }

  /** A member put it into its log: the first to do so is its leader, at the moment of the stamp. */
  appended(entry: Entry, now: number): void {
    const key = `${entry.term}/${entry.index}`
    if (!this.#stamps.has(key)) this.#stamps.set(key, now)
  }

  /** Microseconds of true time at which the entry was stamped. */
  stampedAt({ term, index }: Pick<Entry, 'term' | 'index'>): number {
    return this.#stamps.get(`${term}/${index}`) ?? 0
  }

  /** True when nobody had applied it before. */
  applied(member: string, entry: Entry, { answers }: Applied): boolean {
    const bytes = checksum(entry.data)
    const given = answers === undefined ? undefined : sumOf(answers.map((answer) => answer.bytes))
    const line = this.#lines[entry.index]
    if (line !== undefined) {
      this.#compare(member, entry, line, bytes, given)
      return false
    }
    const { term, time } = entry
    this.#lines[entry.index] = { term, time, bytes, answers: given, by: member, hash: undefined }
    this.#judgeTime(entry)
    return true
  }

  #compare(member: string, entry: Entry, line: Line, bytes: number, answers: number | undefined): void {
    const at = `entry ${entry.index}: ${member} and ${line.by}`
    if (line.term !== entry.term || line.bytes !== bytes)
      throw new LawBroken('one log', `${at} applied different ones (terms ${entry.term} and ${line.term})`)
    if (line.time !== entry.time)
      throw new LawBroken('one log', `${at} see the times ${entry.time} and ${line.time}`)
    if (line.answers !== answers) throw new LawBroken('equal answers', `${at} answered differently`)
  }

  #judgeTime(entry: Entry): void {
    if (entry.time < this.#lastTime)
      throw new LawBroken(
        'cluster time',
        `entry ${entry.index}: time goes back from ${this.#lastTime} to ${entry.time}`,
      )
    this.#lastTime = entry.time
    const ahead = entry.time - (1 + this.#drift) * (this.stampedAt(entry) / 1000)
    // Whole milliseconds, rounded down at the stamp.
    if (ahead > this.#least + 1)
      throw new LawBroken(
        'cluster time',
        `entry ${entry.index}: it ran ${ahead - this.#least} ms ahead of true time`,
      )
    this.#least = Math.min(this.#least, ahead)
    this.#last = { term: entry.term, time: entry.time, at: this.stampedAt(entry) }
  }

  /** The entry stamped last: its term, its cluster time, ms, and the true time of its stamp, µs. */
  get last(): { readonly term: number; readonly time: number; readonly at: number } {
    return this.#last
  }

  hashed(member: string, hash: StateHash): void {
    const line = this.#lines[hash.position.index]
    if (line === undefined) return
    if (line.hash === undefined) {
      line.hash = hash
      return
    }
    if (line.hash.hash === hash.hash) return
    const first = line.hash.spaces
    const spaces = Object.keys(hash.spaces).filter((space) => hash.spaces[space] !== first[space])
    throw new LawBroken(
      'equal states',
      `${member} differs at entry ${hash.position.index} in ${spaces.join(', ')}`,
    )
  }
}

const sumOf = (parts: readonly Uint8Array[]): number =>
  parts.reduce((sum, part) => (Math.imul(sum, 31) + checksum(part)) | 0, parts.length)
