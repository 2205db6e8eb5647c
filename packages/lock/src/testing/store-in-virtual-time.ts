// Driver: sets up a store and a process in virtual time, and runs time until a call has ended.

import { isLatchkeyError } from '@latchkey/protocol'
import { Locking } from '../holding/lock-apis-of-store.js'
import { FakeStore } from './fake-store.js'
import { World, settle } from './virtual-time.js'

export function scene(options: { delay?: number; life?: number } = {}) {
  const world = new World()
  const store = new FakeStore(world)
  const process = () => {
    const port = store.connect(options)
    return { port, locking: new Locking(port) }
  }
  return { world, store, process, ...process() }
}

/**
 * Advances time millisecond by millisecond until the promise has settled. Returns its value or throws its
 * error.
 */
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

/** Returns the error code with which the promise rejects. */
export async function codeOf(world: World, promise: Promise<unknown>): Promise<string> {
  try {
    await finish(world, promise)
  } catch (error) {
    return isLatchkeyError(error) ? error.code : String(error)
  }
  return 'fulfilled'
}

/** 'pending', or what the promise settled with. */
export async function stateOf(promise: Promise<unknown>): Promise<unknown> {
  await settle()
  return Promise.race([promise, Promise.resolve('pending')])
}
