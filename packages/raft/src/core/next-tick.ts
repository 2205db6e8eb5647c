// Rule: how long the core can do without a tick.
//
// Law: what a tick does on time (a heartbeat, an election, the end of a transfer) is due when the answer says, not later. All else
// that it does may wait for the next tick, whenever that is (node.ts).

import type { State } from './state.js'

/** In ms of the timers' clock; zero or less: now. */
export function untilTick(state: State): number {
  const { leading, clock, timers } = state
  if (leading === undefined) return Math.max(state.electionAt, timers.calmAt) - clock
  return Math.min(leading.heartbeatAt, leading.transfer?.until ?? leading.heartbeatAt) - clock
}
