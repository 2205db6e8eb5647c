// Driver: the mirrors of a client. After a mirror has ended, the worker opens another one. The law gets each
// shown state.

import type { Mirror } from '@latchkey/client'
import { MirrorHistory } from '../laws/mirrors.js'
import type { Client } from './client.js'

export async function mirrorWorker(client: Client, prefix: string): Promise<void> {
  const { records, store, life } = client
  const story = new MirrorHistory(`the mirror of ${prefix} of ${client.name}`, prefix, {
    died: () => life.dead,
    stranded: () => client.isStranded,
    untold: () => client.isUntold,
  })
  records.mirrors.push(story)
  for (;;) {
    try {
      const mirror = await store.mirror({ prefix }, { as: 'string', timeout: 5_000 })
      const show = () => {
        try {
          story.shows(mirror.revision, new Map(mirror as Iterable<[string, string]>))
        } catch (error) {
          records.time.fail(error)
        }
      }
      mirror.on('change', show)
      mirror.on('synced', show)
      show()
      await ended(mirror)
      throw mirror.error ?? new Error('a mirror ended without a reason')
    } catch (error) {
      records.fault(error)
      story.refused()
    }
    await client.sleep(50)
  }
}

const ended = (mirror: Mirror<'string'>): Promise<void> =>
  new Promise((resolve) => {
    if (mirror.closed) resolve()
    else mirror.once('closed', () => resolve())
  })
