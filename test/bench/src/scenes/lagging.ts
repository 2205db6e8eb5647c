// Driver: a follower that stands still and comes back: what the others' callers notice, and how long it takes
// to catch up.

import { connect } from '@latchkey/client'
import type { Sidecar } from '@latchkey/test-chaos/sidecar'
import { measure } from '../measure.js'
import { pause } from '../pause.js'
import { residentMiB } from '../processes.js'
import type { LatchkeyScene } from './scene.js'

const CALLERS = 64
const VALUE = new Uint8Array(256).fill(120)

export const lagging: LatchkeyScene = {
  name: 'lagging',
  about: 'puts before, while and after one follower stands still',
  on: 'latchkey',
  fresh: true,
  async run({ cluster }, stage) {
    const store = await connect(cluster.urls)
    const row = async (when: string) => {
      const call = async (c: number, t: number) =>
        (await store.put(`lag/${c}/${t % 100}`, VALUE)).revision > 0
      const figures = await measure(call, { ...stage, callers: CALLERS })
      stage.row({ system: 'Latchkey', load: `put 256 B, ${when}`, ...figures })
    }
    await row('all three go')
    const leader = await cluster.leader()
    const follower = cluster.members.find((member) => member !== leader) as Sidecar
    follower.signal('SIGSTOP')
    await row('a follower stands still')
    stage.fact('lagging.memory', "the leader's memory after this", residentMiB(leader.pid as number), 'MiB')
    follower.signal('SIGCONT')
    const began = performance.now()
    await caughtUp(follower, (await store.status()).commit)
    stage.fact(
      'lagging.catch-up',
      'the follower has caught up after',
      Math.round(performance.now() - began),
      'ms',
    )
    await row('it is back')
    await store.close()
  },
}

async function caughtUp(member: Sidecar, commit: number): Promise<void> {
  for (const deadline = performance.now() + 30_000; performance.now() < deadline; await pause(10)) {
    if (((await member.status())?.applied ?? 0) >= commit) return
  }
  throw new Error('the follower did not catch up')
}
