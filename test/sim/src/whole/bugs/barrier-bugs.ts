// Rule: known bugs of latches and barriers.

import type * as latches from '../../../../../packages/kv/dist/rules/countdown-latches.js'
import type * as parties from '../../../../../packages/kv/dist/rules/latch-and-barrier-waits.js'
import type * as endWaits from '../../../../../packages/kv/dist/rules/end-latch-and-barrier-waits.js'
import { exportsOf, replaced } from '../../run/changed-packages.js'
import { edit, type WholeBug } from './bug.js'

const inEndWaits = exportsOf<typeof endWaits>('kv/rules/end-latch-and-barrier-waits')

const barrierBug = (name: string, id: string, seeds: number, ...changes: WholeBug['changes']): WholeBug => ({
  name,
  ids: [id],
  changes,
  profile: 'barriers',
  seeds,
})

/** Few calls, so that a party waits for long, and its session may end meanwhile. */
const seldom = (name: string, id: string, ...changes: WholeBug['changes']): WholeBug => ({
  ...barrierBug(name, id, 100, ...changes),
  options: { think: 1_500, clients: 3, embedded: 0, sessionLife: 1_500, faults: 2, members: 3 },
})

export const barrierBugs: readonly WholeBug[] = [
  barrierBug(
    'a barrier opens one party too early',
    'K73',
    20,
    edit('kv/rules/barriers', 'if (others + 1 === parties)', 'if (others + 2 >= parties)'),
  ),
  barrierBug(
    'all parties get the same index',
    'K73',
    20,
    inEndWaits('endAll', (real) => (turn, tx, rows, to) => real(turn, tx, rows, (row) => to(row, 0))),
  ),
  barrierBug(
    'a latch opens only for its first waiter',
    'K71',
    50,
    inEndWaits('endAll', (real) => (turn, tx, rows, to) => real(turn, tx, rows.slice(0, 1), to)),
  ),
  barrierBug(
    'a removed latch is reported as open',
    'K71',
    100,
    inEndWaits(
      'endAll',
      (real) => (turn, tx, rows, to) =>
        real(turn, tx, rows, (row, index) => {
          const ended = to(row, index)
          return ended.state === 'removed' ? { ...ended, state: 'passed' } : ended
        }),
    ),
  ),
  barrierBug(
    'a latch counts each call twice',
    'K70',
    20,
    replaced<typeof latches, 'countDown'>(
      'kv/rules/countdown-latches',
      'countDown',
      (real) =>
        (tx, turn, [op, name, by]) =>
          real(tx, turn, [op, name, 2 * by]),
    ),
  ),
  barrierBug(
    'after a reconnect, a store does not ask how a wait ended',
    'K70',
    200,
    edit('client/store/latch-and-barrier-wait', 'this.#mustAsk = true; this.#wake();', ''),
  ),
  seldom(
    'a barrier counts a party whose session has ended',
    'K72',
    replaced<typeof parties, 'endParties'>('kv/rules/latch-and-barrier-waits', 'endParties', () => () => {}),
  ),
  seldom(
    'a new generation has the number of the broken one',
    'K71',
    edit(
      'kv/rules/barriers',
      'tx.putBarrier({ ...barrier, over: barrier.over + 1 }); for',
      'tx.putBarrier({ ...barrier, over: barrier.over }); for',
    ),
  ),
]
