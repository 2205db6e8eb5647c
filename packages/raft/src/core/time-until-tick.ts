// Rule: how long the driver can wait before the next tick of the core.
//
// Law: the tick comes in time for the next heartbeat, election, or end of a transfer. All other work of a
// tick may wait (node.ts).

import type { State } from './state.js'

/**
 * Returns after how many ms of the election timers' clock the next tick is due. Zero or less means that the
 * tick is due now.
 */
export function untilTick(state: State): number {
  const { leading, clock, timers } = state
  if (leading === undefined) return Math.max(state.electionAt, timers.calmAt) - clock
  return Math.min(leading.heartbeatAt, leading.transfer?.until ?? leading.heartbeatAt) - clock
}
