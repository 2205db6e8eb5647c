// Driver: a world with a store and a process, and the way to let a call come to its end there.

import { isLatchkeyError } from '@latchkey/protocol'
import { Locking } from '../holding/locking.js'
import { FakeStore } from './fake-store.js'
import { World, settle } from './world.js'

export function scene(options: { delay?: number; life?: number } = {}) {
  const world = new World()
  const store = new FakeStore(world)
  const process = () => {
    const port = store.connect(options)
    return { port, locking: new Locking(port) }
  }
  return { world, store, process, ...process() }
}

/** Lets time pass, a millisecond at a time, until the promise has settled; gives its value or throws its error. */
export async function finish<T>(world: World, promise: Promise<T>, patience = 60_000): Promise<T> {
  let settled = false
  const done = () => {
    settled = true
  }
  promise.then(done, done)
  const end = world.now + patience
  await settle()
  while (!settled && world.now < end) await world.advance(1)
  if (!settled) throw new Error(`still pending after ${patience} ms`)
  return promise
}

/** The code that it rejects with. */
export async function codeOf(world: World, promise: Promise<unknown>): Promise<string> {
  try {
    await finish(world, promise)
  } catch (error) {
    return isLatchkeyError(error) ? error.code : String(error)
  }
  return 'fulfilled'
}

/** pending, or what it settled with. */
export async function stateOf(promise: Promise<unknown>): Promise<unknown> {
  await settle()
  return Promise.race([promise, Promise.resolve('pending')])
}
