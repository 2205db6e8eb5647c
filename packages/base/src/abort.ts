// Driver: one listener at each signal, whatever number of calls wait for it: more than ten of them are no leak, and a library
// prints no warning.

import { RecyclingMap } from './recycling-map.js'

interface Waiting {
  readonly run: () => void
}

type Hub = RecyclingMap<Waiting, true>

const hubs = new WeakMap<AbortSignal, Hub>()

/**
 * Once, when the signal fires; one that has fired already tells nothing. Returns the function that takes it off again. Law: when
 * nobody waits any more, nothing is left at the signal.
 */
export function onAbort(signal: AbortSignal, run: () => void): () => void {
  if (signal.aborted) return () => {}
  const hub = hubs.get(signal) ?? newHub(signal)
  const waiting = { run }
  hub.set(waiting, true)
  return () => {
    if (hub.delete(waiting) && hub.size === 0) dropHub(signal, hub)
  }
}

function newHub(signal: AbortSignal): Hub {
  const hub: Hub = new RecyclingMap()
  hubs.set(signal, hub)
  signal.addEventListener('abort', fire)
  return hub
}

function dropHub(signal: AbortSignal, hub: Hub): void {
  if (hubs.get(signal) !== hub) return
  hubs.delete(signal)
  signal.removeEventListener('abort', fire)
}

/** In the order in which they came. One that is taken off meanwhile, by another that runs, is not told any more. */
function fire(this: AbortSignal): void {
  const hub = hubs.get(this)
  if (hub === undefined) return
  hubs.delete(this)
  this.removeEventListener('abort', fire)
  for (const waiting of hub.keys()) if (hub.delete(waiting)) waiting.run()
}
