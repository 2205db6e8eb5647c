// Types: work that is done in several turns of the event loop, so that the member can send heartbeats between
// the turns.

/**
 * A generator that does a part of the work in each step. After each step its caller may wait for another turn
 * of the event loop. The last step returns the result.
 */
export type WorkInTurns<T> = Generator<undefined, T, undefined>
