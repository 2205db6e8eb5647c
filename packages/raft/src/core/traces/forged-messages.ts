// Rule: builds messages that no member has sent, for traces. A message is one line of text, such as:
//
//   append a->b t=3 prev=1/t1 commit=1 entries=2/t3,3/t3

import { utf8 } from '@latchkey/base'
import type { Entry, Message } from '../index.js'
import { pairs, position } from './parse-trace-line.js'
import { membersOfGroup } from './trace-state.js'

export function forge(words: readonly string[]): Message {
  const [type, way = ''] = words
  const [from = '', to = ''] = way.split('->')
  const given = pairs(words)
  const number = (name: string, otherwise = 0) => Number(given.get(name) ?? otherwise)
  const log = position(given.get('log') ?? '0/t0')
  const prev = position(given.get('prev') ?? '0/t0')
  const fields: Record<string, unknown> = {
    lastIndex: log.index,
    lastTerm: log.term,
    transfer: given.get('transfer') === 'yes',
    granted: given.get('granted') !== 'no',
    campaignTerm: number('campaign'),
    prevIndex: prev.index,
    prevTerm: prev.term,
    commit: number('commit'),
    entries: entries(given.get('entries')),
    round: number('round'),
    ok: !given.has('rejected'),
    match: number('match'),
    rejected: number('rejected'),
    hintIndex: number('hint'),
    hintTerm: number('hint-term'),
    position: position(given.get('of') ?? '0/t0'),
    membership: membersOfGroup(['a', 'b', 'c'], []),
    offset: number('offset'),
    chunk: new Uint8Array(number('bytes')),
    done: given.get('last') === 'yes',
    installed: given.get('installed') === 'yes',
    context: number('context'),
    index: number('index'),
    time: number('time'),
  }
  return { ...fields, type, from, to, group: number('group', 1), term: number('t', 1) } as unknown as Message
}

function entries(word: string | undefined): Entry[] {
  if (word === undefined) return []
  return word.split(',').map((one) => {
    const { index, term } = position(one)
    return { index, term, time: 0, kind: 'commands', data: utf8(`${index}`) }
  })
}
