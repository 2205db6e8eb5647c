// Driver: an operator who adds members, promotes them and removes others, again and again, over a store like
// anybody else's. Who was removed is switched off, or left alone: it may run on, and be added again.

import type { MemberServer } from '../members/member-server.js'
import type { WholeWorld } from '../whole-world.js'
import type { Client } from './client.js'

/** Members at once; a simulated cluster has no names for more. */
const MOST = 7

export async function membersWorker(world: WholeWorld, client: Client): Promise<void> {
  const { records, random } = client
  while (!records.stopping && world.members.length < MOST) {
    await client.sleep(random.between(200, 1_500))
    const server = comesBack(world, client) ?? world.addServer(true)
    world.note(() => `${server.id} is to be added`)
    server.boot()
    await insist(client, () => client.store.members.add(server.id, server.url, { timeout: 2_000 }))
    await insist(client, () => client.store.members.promote(server.id, { timeout: 2_000 }))
    world.note(() => `${server.id} is a voter`)
    const gone = random.pick(present(world).filter((one) => one !== server))
    if (random.chance(0.6)) await remove(client, gone)
    if (gone.leftAlone) world.note(() => `${gone.id} was removed and left alone`)
  }
}

const present = ({ members }: WholeWorld): readonly MemberServer[] =>
  members.filter(({ retired, leftAlone }) => !retired && !leftAlone)

/** Removed, never switched off, and now added again, over what it has. */
function comesBack({ members }: WholeWorld, { random }: Client): MemberServer | undefined {
  const left = members.filter(({ leftAlone }) => leftAlone)
  if (left.length === 0 || random.chance(0.5)) return undefined
  const server = random.pick(left)
  server.leftAlone = false
  return server
}

async function remove(client: Client, server: MemberServer): Promise<void> {
  await insist(client, () => client.store.members.remove(server.id, { timeout: 2_000 }))
  if (client.random.chance(0.6)) server.retire()
  else server.leftAlone = true
}

/** M15: asked again after whatever came of it, it does nothing twice. */
async function insist(client: Client, run: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await run()
    } catch (error) {
      client.records.fault(error)
    }
    await client.sleep(50)
  }
}
