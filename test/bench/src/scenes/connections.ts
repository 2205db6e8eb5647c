// Driver: the same callers over more and more connections, each with its own session.

import { connect } from '@latchkey/client'
import { measure } from '../measure.js'
import { latchkeyClient } from '../systems/latchkey.js'
import type { LatchkeyScene } from './scene.js'

const CALLERS = 256

export const connections: LatchkeyScene = {
  name: 'connections',
  about: 'lock pairs of 256 callers over 1 to 64 connections',
  on: 'latchkey',
  async run({ cluster }, stage) {
    for (const count of stage.quick ? [4] : [1, 4, 16, 64]) {
      const clients = await Promise.all(
        Array.from({ length: count }, async () => latchkeyClient(await connect(cluster.urls))),
      )
      const pair = async (caller: number) => {
        const release = await clients[caller % count]?.take?.(`lock/${caller}`)
        return release === undefined ? false : release()
      }
      const figures = await measure(pair, { ...stage, callers: CALLERS })
      stage.row({ system: 'Latchkey', load: `lock pair, ${count} connections`, ...figures })
      await Promise.all(clients.map((client) => client.close()))
    }
  },
}
