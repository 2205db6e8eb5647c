// Test: the output of the command line, and its exit codes for a crash, a broken law and missing progress.

import { expect, test } from 'vitest'
import { parseArgs, UsageError } from './args.js'
import { replayCommand } from './many-seeds.js'
import { exitCode, runCli } from './cli.js'
import { drawOptions } from '../raft/options.js'
import { realModules } from '../raft/raft-modules.js'
import { run } from '../raft/run-seed.js'

async function cli(...words: string[]): Promise<{ outcome: string; text: string }> {
  const lines: string[] = []
  const outcome = await runCli(words, (line) => lines.push(line))
  return { outcome, text: lines.join('\n') }
}

/** The words of a printed command. */
const wordsOf = (command: string): string[] =>
  (command.split(' -- ')[1] ?? '').split(' ').map((word) => word.replaceAll("'", ''))

test('--help tells the options', async () => {
  const { outcome, text } = await cli('--help')
  expect(outcome).toBe('pass')
  for (const word of ['--seeds', '--seed', '--bugs', '--only', '--set', '--twice', 'Exit code']) {
    expect(text).toContain(word)
  }
})

test.each([
  [['--sed', '1']],
  [['--seed', 'x']],
  [['--seed']],
  [['--profile', 'odd']],
  [['--workload', 'odd']],
  [['--profile', 'whole', '--workload', 'disk']],
  [['--profile', 'whole', '--scenarios']],
  [['--set', 'a']],
  [['--help', '1']],
])('wrong usage: %s', async (words) => {
  expect((await cli(...words)).outcome).toBe('usage')
})

test('one seed: verdict, hash and how to see it again', async () => {
  const { outcome, text } = await cli('--seed', '1', '--twice', '--trace', '5')
  expect(outcome).toBe('pass')
  expect(text).toMatch(/seed 1: pass · hash [0-9a-f]{16}/)
  expect(text).toContain('replay: npm run sim -- --seed 1 --profile raft')
  for (const word of [
    'seeds 1',
    'events',
    'a second',
    'elections',
    'crashes',
    'snapshots',
    'membership',
    'no violation',
  ]) {
    expect(text).toContain(word)
  }
})

test.each([undefined, 'disk' as const])(
  'the command line draws the faults from the options: %s',
  async (workload) => {
    const words = workload === undefined ? [] : ['--workload', workload]
    const { hash } = await run(drawOptions(1, workload), realModules)
    expect((await cli('--seed', '1', ...words)).text).toContain(`hash ${hash}`)
  },
)

test('a storm is a failure of liveness, with a replay command and a shrunk list', async () => {
  // No heartbeat is ever answered in time: nobody can lead.
  const { outcome, text } = await cli(
    '--seed',
    '3',
    '--set',
    'member.electionTimeout=2',
    '--set',
    'clients=0',
  )
  expect(outcome).toBe('liveness')
  expect(text).toMatch(/seed 3 \(network\): liveness: /)
  expect(text).toMatch(/replay: npm run sim -- --seed 3 .*--only/)
  expect(text).toMatch(/shrunk from \d+ to \d+ faults/)
  const small = text.split('\n').findLast((line) => line.includes('replay:')) ?? ''
  expect((await cli(...wordsOf(small), '--no-shrink')).outcome).toBe('liveness')
})

test('exit codes', () => {
  const codes = (['pass', 'missed', 'usage', 'crash', 'safety', 'liveness'] as const).map(exitCode)
  expect(codes).toEqual([0, 1, 2, 101, 102, 103])
})

test('a replay command says all that was set', () => {
  const args = parseArgs(['--seed', '9', '--set', 'network.tail=1', '--workload', 'disk'])
  expect(replayCommand(9, args, [1, 2], [['clients', 1]])).toBe(
    "npm run sim -- --seed 9 --profile raft --workload disk --set 'network.tail=1' --set 'clients=1' --only 1,2",
  )
  const none = replayCommand(9, args, [], [['network.unreliable', undefined]])
  const { only, settings } = parseArgs(wordsOf(none))
  expect([only, settings.at(-1)]).toEqual([[], ['network.unreliable', undefined]])
  expect(() => parseArgs(['--nothing'])).toThrow(UsageError)
})
