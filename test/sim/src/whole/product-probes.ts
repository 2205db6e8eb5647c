// Driver: observes the lock rules of the compiled product, which stays unchanged.

import type { HoldRow, WaiterRow } from '@latchkey/lock'
import type { ProductModules } from './product-modules.js'

export interface Probe {
  entry(tx: object, reader: object | undefined): void
  granted(tx: object, row: HoldRow): void
  left(tx: object, row: WaiterRow): void
  /** A waiter has confirmed its grant for the first time. */
  touched(tx: object, row: HoldRow): void
  /** The reader has read the next command of its entry. */
  command(reader: object): void
}

const observers = new WeakMap<ProductModules, { probe: Probe }>()

/** From now on `probe` receives the calls of this copy of the product. One run at a time can have a probe. */
export function listen(product: ProductModules, probe: Probe): void {
  const ear = observers.get(product)
  if (ear !== undefined) {
    ear.probe = probe
    return
  }
  const made = { probe }
  observers.set(product, made)
  listenToLocks(product, made)
}

function wrap<T extends object, Name extends keyof T>(
  target: T,
  name: Name,
  make: (original: T[Name]) => T[Name],
): void {
  target[name] = make(target[name])
}

function listenToLocks({ StateLockTransaction, BatchReader }: ProductModules, ear: { probe: Probe }): void {
  type Tx = InstanceType<ProductModules['StateLockTransaction']>
  const { prototype } = StateLockTransaction
  /**
   * The reader of an entry is made just before the time of the entry passes, so the latest reader belongs to
   * the entry.
   */
  let latestReader: object | undefined
  const isRead = (reader: object) => {
    latestReader = reader
  }
  wrap(prototype, 'deleteWaiter', (original) => {
    return function deleteWaiter(this: Tx, row) {
      ear.probe.left(this, row)
      original.call(this, row)
    }
  })
  wrap(prototype, 'granted', (original) => {
    return function granted(this: Tx, row) {
      ear.probe.granted(this, row)
      original.call(this, row)
    }
  })
  wrap(prototype, 'dueWaiters', (original) => {
    return function dueWaiters(this: Tx) {
      ear.probe.entry(this, latestReader)
      return original.call(this)
    }
  })
  wrap(prototype, 'putHold', (original) => {
    return function putHold(this: Tx, row) {
      const before = row.permits === 0 ? this.hold(row.key) : this.sharedHold(row.key, row.id)
      if (isTouch(before, row)) ear.probe.touched(this, row)
      original.call(this, row)
    }
  })
  wrap(BatchReader.prototype, 'view', (original) => {
    return function view(this: InstanceType<ProductModules['BatchReader']>, from, end) {
      isRead(this)
      return original.call(this, from, end)
    }
  })
  wrap(BatchReader.prototype, 'next', (original) => {
    return function next(this: InstanceType<ProductModules['BatchReader']>) {
      const more = original.call(this)
      if (more) ear.probe.command(this)
      return more
    }
  })
}

/**
 * Returns true if the write only records that the waiter has received its grant. A renewal or another acquire
 * also records this, but the history of the lock has them already.
 */
function isTouch(before: HoldRow | undefined, row: HoldRow): boolean {
  return (
    before !== undefined &&
    before.token === row.token &&
    before.touchBy !== 0 &&
    row.touchBy === 0 &&
    before.acquires === row.acquires &&
    before.deadline === row.deadline
  )
}
