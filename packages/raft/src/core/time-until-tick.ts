// Rule: how long the core can wait for its next tick.
//
// Law: `untilTick` returns the time until a heartbeat, an election or the end of a transfer is due. All other
// work of a tick may wait for the next tick, even if that tick is late (node.ts).

import type { State } from './state.js'

/** The result is in ms of the clock of the election timers. Zero or less means now. */
export function untilTick(state: State): number {
  const { leading, clock, timers } = state
  if (leading === undefined) return Math.max(state.electionAt, timers.calmAt) - clock
  return Math.min(leading.heartbeatAt, leading.transfer?.until ?? leading.heartbeatAt) - clock
}
