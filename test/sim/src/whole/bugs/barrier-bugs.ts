// Rule: known bugs of latches and barriers.

import { during } from '../../run/changed-packages.js'
import type { WholeBug } from './bug.js'
import { inBarriers, inEndWaits, inLatches, inPartyWait, inWaits } from './product-exports.js'

const barrierBug = (name: string, id: string, seeds: number, ...changes: WholeBug['changes']): WholeBug => ({
  name,
  ids: [id],
  changes,
  workload: 'barriers',
  seeds,
})

/** Clients make few calls, so a caller waits for long, and its session may end during the wait. */
const seldom = (name: string, id: string, ...changes: WholeBug['changes']): WholeBug => ({
  ...barrierBug(name, id, 100, ...changes),
  options: { think: 1_500, clients: 3, embedded: 0, sessionLife: 1_500, faults: 2, members: 3 },
})

export const barrierBugs: readonly WholeBug[] = [
  barrierBug(
    'a barrier opens one party too early',
    'K73',
    20,
    inBarriers(
      'enterBarrier',
      (real) =>
        (tx, turn, now, session, [op, name, id, parties, wait]) =>
          real(tx, turn, now, session, [op, name, id, Math.max(1, parties - 1), wait]),
    ),
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
    inLatches(
      'countDown',
      (real) =>
        (tx, turn, [op, name, by]) =>
          real(tx, turn, [op, name, 2 * by]),
    ),
  ),
  {
    ...barrierBug(
      'after a reconnect, a store does not ask how a wait ended',
      'K70',
      200,
      inPartyWait(
        'PartyWait',
        (Real) =>
          class extends Real {
            constructor(...[port, terms]: ConstructorParameters<typeof Real>) {
              super({ ...port, onAttached: () => () => {} }, terms)
            }
          },
      ),
    ),
    breaks: 'liveness',
  },
  seldom(
    'a barrier counts a party whose session has ended',
    'K72',
    inWaits('endParties', () => () => {}),
  ),
  seldom(
    'a new generation has the number of the broken one',
    'K73',
    inBarriers(
      'breakGeneration',
      (real) => (tx, name) => during(tx, { putBarrier: () => true }, () => real(tx, name)),
    ),
  ),
]
