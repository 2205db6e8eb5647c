// Test: a start is short: the command loads only what it needs, a new cluster elects its leader as soon as
// its members are connected, and a member is ready as soon as it knows its leader.

import { Cluster } from '@latchkey/test-chaos/cluster'
import { LATCHKEY, nodeProcess } from '@latchkey/test-chaos/command'
import { expect, onTestFinished, test } from 'vitest'

/** A hook of Node's loader that prints the address of each module that is loaded. */
const LOAD_HOOK = `import { writeSync } from 'node:fs'
export function load(url, context, next) {
  writeSync(2, url + '\\n')
  return next(url, context)
}`
const dataUrl = (script: string) => `data:text/javascript,${encodeURIComponent(script)}`
const REGISTER = `import { register } from 'node:module'; register(${JSON.stringify(dataUrl(LOAD_HOOK))})`

/** Without it: `latchkey --version` loads 290 modules, and takes three times as long as Node alone. */
test('the version is told without the modules of any command', async () => {
  const { code, out, err } = await nodeProcess(['--import', dataUrl(REGISTER), LATCHKEY, '--version']).ended
  expect([code, out]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)])
  const loaded = err.split('\n').filter((url) => url.startsWith('file:'))
  expect(loaded).toContainEqual(expect.stringContaining('latchkey/bin/latchkey.js'))
  // Its own way from the words to the version, and the clock and the errors of packages/base.
  expect(loaded.length, loaded.join('\n')).toBeLessThan(60)
  expect(loaded.filter((url) => /packages\/(client|raft|kv|daemon)\/|-command/.test(url))).toEqual([])
})

/** An election timeout so long that nobody who waits for one is ready before the limit. */
const ELECTION_MILLIS = 200_000

test.each([
  [1, 'a single member leads at once'],
  [3, 'the members of a new cluster elect a leader when they have met'],
])('E20 E21: %i: %s, and each is ready when it learns of the leader', async (size) => {
  const began = performance.now()
  const cluster = await Cluster.start({ size, flags: ['--election-timeout', String(ELECTION_MILLIS)] })
  onTestFinished(() => cluster.destroy())
  // A member that is not ready asks for a proof four times in an election timeout.
  expect(performance.now() - began).toBeLessThan(ELECTION_MILLIS / 4)
})
