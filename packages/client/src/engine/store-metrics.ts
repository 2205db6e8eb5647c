// Rule: what a store itself counts, and the metrics that are made of these counts (docs/metrics.md).

import type { HoldingCounts } from '@latchkey/lock'
import type { Metric } from '@latchkey/protocol'

export class StoreCounts implements HoldingCounts {
  waiting = 0
  lost = 0
  /** Requests that were sent again. */
  retries = 0
  /** How often the store found a member again after it had lost its last connection. */
  reconnects = 0

  metrics(): Metric[] {
    return [
      metric(
        'gauge',
        'latchkey_store_waiting',
        'Calls of this store that wait in a queue, at a latch or at a barrier',
        this.waiting,
      ),
      metric('counter', 'latchkey_store_lost_holds_total', 'Holds that this store has lost', this.lost),
      metric(
        'counter',
        'latchkey_store_retries_total',
        'Requests that this store has sent again',
        this.retries,
      ),
      metric(
        'counter',
        'latchkey_store_reconnects_total',
        'How often this store has found a member again after it had lost its last connection',
        this.reconnects,
      ),
    ]
  }
}

const metric = (type: Metric['type'], name: string, help: string, value: number): Metric => ({
  name,
  help,
  type,
  values: [{ labels: {}, value }],
})
