// Rule: a key that clients only read and append to. Each appended word is unique, so the value shows every
// append. One pass over the calls decides whether one order explains every answer.
//
// Laws
// - Each read returns the beginning of the final value. A later read does not return less.
// - If a word was acknowledged before a read was sent, the read contains the word. If the word was sent after
//   the read had ended, the read does not contain it.
// - If one word was acknowledged before another word was sent, it stands before the other word.
// - The value contains no word twice, and no word whose append was refused.

import { LawBroken } from '../../laws/verdict.js'
import type { KeyCall } from './key-call.js'

export function judgeAppends(key: string, ops: readonly KeyCall[], end: string | undefined): void {
  const words = split(end)
  const places = new Map(words.map((word, i) => [word, i]))
  if (places.size !== words.length)
    throw new LawBroken('exactly once', `${key}: a word is there twice: ${end}`)
  for (const op of ops) if (op.kind === 'merge') judgeWord(key, op, places)
  judgeOrder(key, ops, places)
  judgeReads(key, ops, words)
}

const split = (value: unknown): string[] => (typeof value === 'string' ? value.split(',') : [])

function judgeWord(key: string, { word, end, refused }: KeyCall, places: ReadonlyMap<string, number>): void {
  const isThere = places.has(word)
  if (!isThere && end !== Number.POSITIVE_INFINITY)
    throw new LawBroken('nothing is lost', `${key}: ${word} was acknowledged and is not there`)
  if (isThere && refused)
    throw new LawBroken('refused is refused', `${key}: ${word} was refused and is there`)
}

/**
 * Goes through the words from the last to the first. An error is a word that was acknowledged before a word
 * in front of it was sent.
 */
function judgeOrder(key: string, ops: readonly KeyCall[], places: ReadonlyMap<string, number>): void {
  const merged = ops.filter(({ kind, word }) => kind === 'merge' && places.has(word))
  merged.sort((a, b) => (places.get(b.word) ?? 0) - (places.get(a.word) ?? 0))
  let firstEnd = Number.POSITIVE_INFINITY
  for (const { word, call, end } of merged) {
    if (call > firstEnd)
      throw new LawBroken('linearizability', `${key}: ${word} stands before what was done before it`)
    firstEnd = Math.min(firstEnd, end)
  }
}

function judgeReads(key: string, ops: readonly KeyCall[], words: readonly string[]): void {
  const merges = new Map(ops.filter(({ kind }) => kind === 'merge').map((op) => [op.word, op]))
  const reads = ops.filter(({ kind, end }) => kind === 'get' && end !== Number.POSITIVE_INFINITY)
  for (const read of reads) {
    const seen = split(read.result)
    if (seen.some((word, i) => word !== words[i]))
      throw new LawBroken(
        'linearizability',
        `${key}: ${String(read.result)} is no beginning of ${words.join()}`,
      )
    const next = merges.get(words[seen.length] ?? '')
    if (next !== undefined && next.end < read.call)
      throw new LawBroken(
        'linearizability',
        `${key}: a read lacks ${next.word}, which was acknowledged before it`,
      )
    const last = merges.get(seen.at(-1) ?? '')
    if (last !== undefined && last.call > read.end)
      throw new LawBroken(
        'linearizability',
        `${key}: a read shows ${last.word}, which was asked for behind it`,
      )
  }
  judgeBackwards(key, reads)
}

function judgeBackwards(key: string, reads: readonly KeyCall[]): void {
  const byEnd = [...reads].sort((a, b) => a.end - b.end)
  let most = 0
  let at = 0
  for (const read of [...reads].sort((a, b) => a.call - b.call)) {
    for (; at < byEnd.length && (byEnd[at] as KeyCall).end < read.call; at++)
      most = Math.max(most, split((byEnd[at] as KeyCall).result).length)
    if (split(read.result).length < most)
      throw new LawBroken('linearizability', `${key}: a read shows less than one before`)
  }
}
