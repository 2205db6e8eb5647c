// Driver: an operator adds, promotes and removes members again and again, through an ordinary store. A
// removed member is switched off, or it may continue to run and be added again.

import type { MemberServer } from '../members/member-server.js'
import type { WholeWorld } from '../whole-world.js'
import type { Client } from './client.js'

/** The most members of the cluster. The simulator has no more names. */
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

/** Returns a removed member that still runs. It is added again with its old directory. */
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

/** M15: repeats the change after any error. The cluster must not make the change twice. */
export async function insist(client: Client, run: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await run()
    } catch (error) {
      client.records.fault(error)
    }
    await client.sleep(50)
  }
}
