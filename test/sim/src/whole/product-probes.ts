// Driver: observes what the lock rules of the compiled product do. The product itself stays as it is.

import type { HoldRow, WaiterRow } from '@latchkey/lock'
import type { ProductModules } from './product-modules.js'

export interface Probe {
  /** A transaction of the lock rules, one an entry, and the reader of that entry's commands. */
  entry(tx: object, reader: object | undefined): void
  granted(tx: object, row: HoldRow): void
  left(tx: object, row: WaiterRow): void
  /** A grant that was not touched before now is. */
  touched(tx: object, row: HoldRow): void
  /** The next command of the entry that is read by that reader. */
  command(reader: object): void
}

const observers = new WeakMap<ProductModules, { probe: Probe }>()

/** From now on that probe hears; one run at a time. */
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
  /** An entry's reader is made right before its time passes, so the latest one is that entry's. */
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
 * Nothing else was done: a reentry or a renewal from another session of the same owner touches too, and tells
 * so itself.
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
