// Rule: all members give the same answers to the commands of an entry, and a member gives the same answers
// again after a restart (A1, A2).

import { checksum } from '@latchkey/base'
import { LawBroken } from './verdict.js'
import type { MakeLaw } from './law.js'

const name = 'equal-answers'

export const equalAnswers: MakeLaw = () => {
  const first: ({ readonly id: string; readonly sum: number } | undefined)[] = []
  return {
    name,
    applied({ id }, { entry: { index }, answers }) {
      if (answers === undefined) return
      const sum = answers.reduce((all, bytes) => (Math.imul(all, 31) + checksum(bytes)) | 0, answers.length)
      const { id: other, sum: expected } = (first[index] ??= { id, sum })
      if (sum !== expected) throw new LawBroken(name, `${id} and ${other} answer entry ${index} differently`)
    },
  }
}
