// Rule: log matching. If two entries have the same index and term, they are equal, and so are all entries
// before them.

import { equalBytes } from '@latchkey/base'
import type { Entry } from '@latchkey/raft/core'
import { LawBroken } from './verdict.js'
import type { MakeLaw } from './law.js'

const name = 'log-matching'

interface Known {
  readonly entry: Entry
  /** Two logs with the same previous term here are equal up to here, by induction. */
  readonly previousTerm: number
}

export const logMatching: MakeLaw = () => {
  const known: Known[][] = []
  const check = (member: string, entry: Entry, previousTerm: number | undefined) => {
    const same = (known[entry.index] ??= [])
    const other = same.find((candidate) => candidate.entry.term === entry.term)
    if (other === undefined) {
      if (previousTerm !== undefined) same.push({ entry, previousTerm })
      return
    }
    const where = `${member}: entry ${entry.index} of term ${entry.term}`
    if (!equalEntries(other.entry, entry)) throw new LawBroken(name, `${where} exists with other contents`)
    if (previousTerm !== undefined && previousTerm !== other.previousTerm) {
      throw new LawBroken(name, `${where} follows terms ${other.previousTerm} and ${previousTerm}`)
    }
    if (previousTerm !== undefined && previousTerm > entry.term) {
      throw new LawBroken(name, `${where} follows an entry of term ${previousTerm}`)
    }
  }
  return {
    name,
    persisting(member, batch) {
      let previous =
        batch.restartAfter?.position.term ??
        member.live.termAt((batch.entries[0]?.index ?? member.live.lastIndex + 1) - 1)
      for (const entry of batch.entries) {
        check(member.id, entry, previous)
        previous = entry.term
      }
    },
    booted(member, found) {
      let previous = found.base.term
      for (const entry of found.entries) {
        check(member.id, entry, previous)
        previous = entry.term
      }
    },
  }
}

/** Does not compare the index and the term. */
export function equalEntries(a: Entry, b: Entry): boolean {
  if (a === b) return true
  return a.kind === b.kind && a.time === b.time && equalBytes(a.data, b.data)
}
