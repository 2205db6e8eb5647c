// Driver: a small program that is run by each runtime on the packed packages: node program.mjs one|three|client...

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, open } from 'latchkey'

const dir = mkdtempSync(join(tmpdir(), 'latchkey-runtime-'))
/** A text that begins with a byte order mark. The text must come back with the mark. */
const MARKED = '\ufeffmarked ü'
/** Everybody takes the lock once: the tokens are 1, 2, 3, ... */
async function lockAll(stores) {
  const tokens = []
  const once = (store) =>
    store.locks.withLock('lock', { lease: '5s', context: MARKED }, async (hold) => {
      assert.deepEqual(
        (await store.locks.query('lock')).map(({ context }) => context),
        [MARKED],
      )
      for (const as of ['string', 'json', 'msgpack']) {
        await hold.kv.put(as, MARKED, { as })
        assert.equal(await store.get(as, { as }), MARKED)
      }
      await hold.kv.put('last', String(hold.token))
      tokens.push(hold.token)
    })
  await Promise.all(stores.map(once))
  return tokens.map((token) => token - tokens[0])
}

const PARTS = {
  /** In memory, then in a directory that is opened twice. */
  async one() {
    for (const place of [{ memory: true }, { dir: join(dir, 'one') }, { dir: join(dir, 'one') }]) {
      const store = await open({ id: 'a', ...place })
      await store.ready()
      assert.deepEqual(await lockAll([store, store]), [0, 1])
      await store.close()
    }
  },
  async three() {
    const ids = ['a', 'b', 'c']
    const members = Object.fromEntries(
      await Promise.all(ids.map(async (id) => [id, `ws://127.0.0.1:${await freePort()}`])),
    )
    const stores = await Promise.all(ids.map((id) => open({ id, dir: join(dir, id), members })))
    await Promise.all(stores.map((store) => store.ready()))
    const remote = await connect(Object.values(members))
    assert.deepEqual(await lockAll([...stores, remote]), [0, 1, 2, 3])
    await remote.close()
    await Promise.all(stores.map((store) => store.close()))
  },
  /** Of the member at ENDPOINT. */
  async client() {
    const remote = await connect([process.env.ENDPOINT])
    assert.deepEqual(await lockAll([remote, remote]), [0, 1])
    for await (const { type } of remote.watch({ key: 'last' }, { initial: true }))
      if (type === 'synced') break
    await remote.close()
  },
}

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })

for (const name of process.argv.slice(2)) await PARTS[name]()
rmSync(dir, { recursive: true })
const { bun, deno, node } = process.versions
console.log(bun ? `Bun ${bun}` : deno ? `Deno ${deno}` : `Node ${node}`)
