// Test: which systems and loads the options of the command choose.

import { expect, test } from 'vitest'
import { readOptions } from './options.js'
import { PEERS } from './plan.js'

const peersOf = (...words: readonly string[]) => {
  const options = readOptions(words)
  if (options === 'help' || 'wrong' in options) throw new Error('no options')
  return options.peers
}

test('no peers unless they are asked for: all of them, or those that are named', () => {
  expect(peersOf()).toEqual([])
  expect(peersOf('--peers')).toEqual(PEERS.map(({ name }) => name))
  expect(peersOf('--against', 'etcd,RheaKV')).toEqual(['etcd', 'RheaKV'])
})

test('a name that is not known is refused with those that are', () => {
  expect(readOptions(['--against', 'etcd,Consul'])).toEqual({
    wrong: 'no peer "Consul"; there are: etcd, Redlock, Redis, ZooKeeper, PostgreSQL, RheaKV',
  })
  expect(readOptions(['--only', 'loads,tea'])).toHaveProperty(
    'wrong',
    expect.stringMatching('no scene "tea"'),
  )
})

test('--readme is refused without --markdown, or for a run of some scenes or peers', () => {
  const readme = ['--readme', 'README.md']
  const whole = ['--peers', '--markdown', 'page.md']
  expect(readOptions([...whole, ...readme])).toHaveProperty('readme', 'README.md')
  const others = [
    ['--peers'],
    ['--markdown', 'page.md'],
    [...whole, '--quick'],
    [...whole, '--only', 'loads'],
  ]
  for (const words of [...others, ['--against', 'etcd', '--markdown', 'page.md'], [...whole, '--engines']])
    expect(readOptions([...words, ...readme])).toHaveProperty(
      'wrong',
      expect.stringContaining('--readme needs'),
    )
})
