// Driver: a client's mirrors, opened anew whenever one ends. Each state that one shows is handed to the
// judge.

import type { Mirror } from '@latchkey/client'
import { MirrorStory } from '../judge/mirrors.js'
import type { Client } from './crew.js'

export async function mirrorWorker(client: Client, prefix: string): Promise<void> {
  const { desk, store, life } = client
  const story = new MirrorStory(`the mirror of ${prefix} of ${client.name}`, prefix, {
    died: () => life.dead,
    stranded: () => client.isStranded,
    untold: () => client.isUntold,
  })
  desk.mirrors.push(story)
  for (;;) {
    try {
      const mirror = await store.mirror({ prefix }, { as: 'string', timeout: 5_000 })
      const show = () => {
        try {
          story.shows(mirror.revision, new Map(mirror as Iterable<[string, string]>))
        } catch (error) {
          desk.ground.fail(error)
        }
      }
      mirror.on('change', show)
      mirror.on('synced', show)
      show()
      await ended(mirror)
      throw mirror.error ?? new Error('a mirror ended without a reason')
    } catch (error) {
      desk.fault(error)
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
