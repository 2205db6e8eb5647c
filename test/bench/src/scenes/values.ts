// Driver: larger and larger values.

import { connect } from '@latchkey/client'
import { measure } from '../measure.js'
import type { LatchkeyScene } from './scene.js'

const CALLERS = 8
const KIB = [1, 16, 256, 1_024]

export const values: LatchkeyScene = {
  name: 'values',
  about: 'puts and gets of 1 KiB to 1 MiB',
  on: 'latchkey',
  fresh: true,
  async run({ cluster }, stage) {
    const store = await connect(cluster.urls)
    for (const kib of stage.quick ? [1, 256] : KIB) {
      const value = new Uint8Array(kib * 1024).fill(120)
      const row = async (load: string, call: (caller: number) => Promise<boolean>) => {
        const figures = await measure(call, { ...stage, callers: CALLERS })
        stage.row({ system: 'Latchkey', load: `${load} ${kib} KiB`, ...figures })
      }
      await row('put', async (caller) => (await store.put(`value/${caller}`, value)).revision > 0)
      await row('get', async (caller) => (await store.get(`value/${caller}`))?.length === value.length)
    }
    await store.close()
  },
}
