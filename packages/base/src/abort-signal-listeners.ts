// Driver: puts one listener on each AbortSignal, even if many calls wait for that signal. Node warns of a
// leak if a signal has more than ten listeners.

import { RecyclingMap } from './map-with-frequent-deletes.js'

interface Waiting {
  readonly run: () => void
}

type Hub = RecyclingMap<Waiting, true>

const hubs = new WeakMap<AbortSignal, Hub>()

/**
 * Calls `run` once when the signal is aborted. If the signal is already aborted, `run` is never called. The
 * returned function removes `run` from the signal.
 * Law: a signal without waiting functions has no listener of this file.
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

/**
 * Runs the waiting functions in the order in which they were added. If one function removes a later function,
 * the later function does not run.
 */
function fire(this: AbortSignal): void {
  const hub = hubs.get(this)
  if (hub === undefined) return
  hubs.delete(this)
  this.removeEventListener('abort', fire)
  for (const waiting of hub.keys()) if (hub.delete(waiting)) waiting.run()
}
