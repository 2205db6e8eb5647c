// Rule: splits a line of a trace into plain words, name=value pairs, and positions in the log.

import type { LogPosition } from '../index.js'

export const isPair = (word: string) => word.includes('=')
export const list = (word: string | undefined): string[] =>
  word === undefined || word === '' ? [] : word.split(',')

export function pairs(words: readonly string[]): Map<string, string> {
  return new Map(words.filter(isPair).map((word) => word.split('=') as [string, string]))
}

/** `12/t3` is index 12 in term 3. The time of the position is 0. */
export function position(word: string): LogPosition {
  const [index, term] = word.split('/t')
  return { index: Number(index), term: Number(term), time: 0 }
}
