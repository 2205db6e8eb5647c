// Driver: the way to nobody, for a cluster of one.

import { Emitter } from '@latchkey/base'
import type { Transport, TransportEvents } from '@latchkey/raft'

export class NullTransport extends Emitter<TransportEvents> implements Transport {
  send(): void {}
  sendApp(): boolean {
    return false
  }
  flush(): void {}
  setPeers(): void {}
  connected(): boolean {
    return false
  }
  peer(): undefined {}
  recheck(): void {}
  async close(): Promise<void> {}
}
