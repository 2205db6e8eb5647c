// Test: the log of a starting member contains a command over its budget: the member refuses the command and
// continues.

import { uptime } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@latchkey/base'
import { connect } from '@latchkey/client'
import { encodeBatch } from '@latchkey/kv'
import { type Command, encodeCommand, OP, STEP } from '@latchkey/protocol'
import { type Entry, decodeMembership, encodeMembership, nodeFileSystem, Wal } from '@latchkey/raft'
import { Cluster, type Sidecar } from '@latchkey/test-chaos/cluster'
import { expect, test } from 'vitest'

const patient = { timeout: '1m' } as const

/** 15 KB: ranges over the same long keys, each of which was gathered anew. */
const RANGES: Command = [
  OP.batch,
  null,
  Array.from({ length: 1_500 }, () => [STEP.deleteRange, Buffer.from('0'), Buffer.from('1')] as const),
]
/** 128 KB: each onto a value of 0.9 MB. */
const MERGES: Command = [
  OP.batch,
  null,
  Array.from({ length: 10_000 }, () => [STEP.merge, Buffer.from('m'), Buffer.from('x')] as const),
]

const openLog = ({ id, options }: Sidecar) =>
  Wal.open({
    fs: nodeFileSystem(),
    dir: join(options.dir, 'log'),
    memberId: id,
    incarnation: '',
    membership: { encode: encodeMembership, decode: mustDecode },
    clock: systemClock(uptime),
  })

function mustDecode(bytes: Uint8Array) {
  const membership = decodeMembership(bytes)
  if (membership === undefined) throw new Error('no membership')
  return membership
}

/**
 * All their logs end with the same entries: what the longest of them has, and these commands in a session of
 * their own.
 */
async function append(members: readonly Sidecar[], commands: readonly Command[]): Promise<number> {
  const logs = await Promise.all(members.map(openLog))
  const longest = logs.reduce((one, other) => (lastOf(other) > lastOf(one) ? other : one)).recovered.entries
  const { index, term, time } = longest[longest.length - 1] as Entry
  const session = index + 1
  const records = [
    { session: 0, number: 0, done: 0, body: encodeCommand([OP.openSession, 60_000]) },
    ...commands.map((command, i) => ({ session, number: i + 1, done: 1, body: encodeCommand(command) })),
  ]
  const poison = records.map(
    (record, i): Entry => ({ index: session + i, term, time, kind: 'commands', data: encodeBatch([record]) }),
  )
  for (const log of logs) {
    const own = lastOf(log)
    const entries = [...longest.filter((entry) => entry.index > own), ...poison]
    const batch = { id: 1, hardState: undefined, truncateFrom: undefined, entries, restartAfter: undefined }
    await new Promise<void>((resolve, reject) =>
      log.wal.append(batch, (error) => (error === undefined ? resolve() : reject(error))),
    )
    await log.wal.close()
  }
  return session + commands.length
}

const lastOf = ({ recovered }: Awaited<ReturnType<typeof openLog>>): number =>
  recovered.entries.at(-1)?.index ?? 0

test.each([1, 3])('A14: %d members with a poisoned log start, serve, and start again', async (size) => {
  const cluster = await Cluster.start({ size })
  try {
    const store = await connect(cluster.urls)
    const long = (i: number) => String(i).padStart(6, '0').repeat(680)
    for (let i = 0; i < 5_000; i += 500)
      await store.putAll(
        Array.from({ length: 500 }, (_, n) => [long(i + n), ''] as const),
        patient,
      )
    await store.put('m', Buffer.alloc(900_000, 1), patient)
    await store.close()
    await Promise.all(cluster.members.map((member) => member.stop()))
    const last = await append(cluster.members, [RANGES, MERGES])
    for (let start = 0; start < 2; start++) {
      for (const member of cluster.members) member.start()
      await cluster.ready()
      const again = await connect(cluster.urls)
      expect((await again.get('m', patient))?.length).toBe(900_000)
      await again.put('after', String(start), patient)
      expect((await again.keys({ gte: '0', lt: '1', limit: 5_001 }).next()).done).toBe(false)
      for (const member of cluster.members)
        await expect.poll(async () => (await member.status())?.applied ?? 0).toBeGreaterThan(last)
      await again.close()
      await Promise.all(cluster.members.map((member) => member.stop()))
    }
  } finally {
    await cluster.destroy()
  }
})
