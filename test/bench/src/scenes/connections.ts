// Driver: the same callers over more and more connections, each with its own session.

import { connect } from '@latchkey/client'
import { measure, round } from '../measure.js'
import { latchkeyClient } from '../systems/latchkey.js'
import type { LatchkeyScene } from './scene.js'

const CALLERS = 256

export const connections: LatchkeyScene = {
  name: 'connections',
  about: 'lock pairs of 256 callers over 1 to 64 connections',
  on: 'latchkey',
  async run({ cluster }, stage) {
    const looker = await connect(cluster.urls)
    const commit = async () => (await looker.status()).commit
    for (const count of stage.quick ? [4] : [1, 4, 16, 64]) {
      const clients = await Promise.all(
        Array.from({ length: count }, async () => latchkeyClient(await connect(cluster.urls))),
      )
      const pair = async (caller: number) => {
        const release = await clients[caller % count]?.take?.(`lock/${caller}`)
        return release === undefined ? false : release()
      }
      const before = await commit()
      // The warm-up's entries count as well: so does its work.
      let pairs = 0
      const counted = (caller: number) => pair(caller).finally(() => pairs++)
      const figures = await measure(counted, { ...stage, callers: CALLERS })
      const entries = (await commit()) - before
      stage.row({ system: 'Latchkey', load: `lock pair, ${count} connections`, ...figures })
      const what = `commands per entry, ${CALLERS} callers over ${count} connections`
      stage.fact(`connections.batch.${count}`, what, round((2 * pairs) / entries, 1), '')
      await Promise.all(clients.map((client) => client.close()))
    }
    await looker.close()
  },
}
