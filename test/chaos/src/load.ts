// Driver: a write load with books, while something happens to the cluster.

import { connect } from '@latchkey/client'
import type { ConnectOptions } from '@latchkey/client'
import { Ledger } from './ledger.js'
import { Standstill } from './standstill.js'
import { until } from './until.js'

export interface LoadReport {
  readonly acknowledged: number
  /** Codes of calls that failed. */
  readonly errors: readonly string[]
  /** Writes lost or applied twice. */
  readonly faults: readonly string[]
}

export interface Load {
  /** Writes acknowledged so far. */
  acknowledged(): number
  /** Resolves when so many more have been acknowledged: the cluster serves. */
  more(count: number): Promise<void>
}

/** Each load has lists of its own, also several on one cluster. */
let loads = 0

/**
 * Two writers with a client of default settings; ends after `deed`, with the books closed and compared with
 * the store.
 */
export async function underLoad(
  urls: readonly string[],
  deed: (load: Load) => Promise<void>,
  options: ConnectOptions = {},
): Promise<LoadReport> {
  const store = await connect([...urls], options)
  const nth = ++loads
  const standstill = new Standstill()
  const ledgers = ['x', 'y'].map((name) => new Ledger(store, `${name}${nth}`, standstill))
  const acknowledged = () => ledgers.reduce((total, ledger) => total + ledger.acknowledged, 0)
  let going = true
  const work = ledgers.map(async (ledger) => {
    while (going) await ledger.write()
  })
  try {
    await deed({
      acknowledged,
      more: async (count) => {
        const goal = acknowledged() + count
        await until(`${count} more writes`, () => acknowledged() >= goal)
      },
    })
    going = false
    await Promise.all(work)
    const reports = await Promise.all(ledgers.map((ledger) => ledger.audit(store)))
    return {
      acknowledged: acknowledged(),
      errors: ledgers.flatMap((ledger) => [...ledger.errors.keys()]),
      faults: reports.flatMap((report) => report.faults),
    }
  } finally {
    going = false
    standstill.close()
    await store.close()
  }
}
