// Driver: what a new user stumbled over in the first hour, finding by finding, tried on the packages as people get them. Each finding is
// judged for itself: a line with + or x. The types of the same findings are in first-hour-types.mjs. It runs in the repository too:
// node scripts/pack/first-hour.mjs

import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { connect, isLatchkeyError, open } from 'latchkey'
import { testCluster } from 'latchkey/testing'

const COMMAND = process.env.LATCHKEY ?? 'node_modules/.bin/latchkey'
const SOON = 8_000

const store = await open({ id: 'a', memory: true, logger: false })
await store.ready()
/** The error of what must fail. */
const failure = (promise) =>
  promise.then(
    () => assert.fail('it should have failed'),
    (error) => error,
  )

async function freePorts(count) {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  const ports = await Promise.all(
    servers.map(
      (server) => new Promise((resolve) => server.once('listening', () => resolve(server.address().port))),
    ),
  )
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}

/** The command, to its end: `{ code, out, err, millis }`. */
const latchkey = (...args) =>
  new Promise((resolve) => {
    const began = performance.now()
    execFile(COMMAND, args, { timeout: 30_000 }, (error, out, err) =>
      resolve({ code: error?.code ?? 0, out, err, millis: performance.now() - began }),
    )
  })

async function until(what, isSo) {
  for (const end = performance.now() + SOON; performance.now() < end; ) {
    const found = await isSo()
    if (found) return found
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return assert.fail(`not so after ${SOON} ms: ${what}`)
}

const FINDINGS = {
  async '1: nothing that is misspelt is ignored, and nothing is written'() {
    const wrong = [
      [() => store.put('wrong', 'v', { gaurd: { key: 'k', token: 1 } }), /unknown option "gaurd".*"guard"/],
      [() => store.txn({ if: [], then: [{ type: 'put', key: 'wrong', value: 'v' }] }), /"if"/],
      [() => store.txn({ when: [{ key: 'wrong', op: '!=', value: 'v' }], then: [] }), /"op"/],
      [() => store.locks.acquire('wrong', { ttl: '10s' }), /"ttl"/],
      [() => store.scan({ start: 'a', end: 'b' }), /"start"/],
      [() => store.put('wrong', 'v', { ttl: '10 s' }), /ttl/],
    ]
    for (const [call, message] of wrong) {
      const error = await failure(call())
      assert.ok(error instanceof TypeError, `${error}`)
      assert.match(error.message, message)
    }
    assert.throws(() => store.on('disconnect', () => {}), { name: 'TypeError', message: /"disconnect"/ })
    assert.equal(await store.containsKey('wrong'), false)
    assert.deepEqual(await store.locks.query('wrong'), [])
  },

  async '2: values go in and come out as what they are'() {
    await store.put('user/1', { name: 'Ada', born: new Date(0) }, { as: 'msgpack' })
    assert.deepEqual(await store.get('user/1', { as: 'msgpack' }), { name: 'Ada', born: new Date(0) })
  },

  async '3: busy and broken differ, and errors say of what, who and how long'(later) {
    const cluster = later(await testCluster({ members: 3 }))
    const { a, b } = cluster.stores
    const hold = await a.locks.acquire('report', { lease: '1m', context: 'worker a' })
    const busy = await failure(b.locks.acquire('report', { wait: '200ms' }))
    assert.ok(isLatchkeyError(busy, 'ERR_TIMEOUT'), `${busy}`)
    assert.equal(busy.key, 'report')
    assert.equal(busy.holder.context, 'worker a')
    assert.equal(busy.holder.fencingToken, hold.token)
    assert.ok(busy.waitedMillis >= 200 && busy.holder.remainingMillis > 0)
    await cluster.kill('b')
    await cluster.kill('c')
    // Nobody ever held this one: the wait ends because nobody leads.
    const broken = await failure(a.locks.acquire('nobody had it', { wait: '3s' }))
    assert.ok(isLatchkeyError(broken, 'ERR_NO_LEADER'), `${broken}`)
    assert.deepEqual([...broken.missing].toSorted(), ['b', 'c'])
  },

  async '4: the first boot says for whom it waits: ready, readyz, status and the log'() {
    const [mine, ...others] = await freePorts(3)
    const at = (port) => `ws://127.0.0.1:${port}`
    const members = ['a', 'b', 'c'].map((id, i) => ['--member', `${id}=${at([mine, ...others][i])}`])
    const args = ['start', '--id', 'a', '--memory', ...members.flat()]
    const member = spawn(COMMAND, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    let log = ''
    member.stdout.setEncoding('utf8').on('data', (text) => (log += text))
    try {
      const readyz = await until('readyz says who is missing', async () => {
        const answer = await fetch(`http://127.0.0.1:${mine}/readyz`).catch(() => undefined)
        const text = await answer?.text()
        return answer?.status === 503 && text.includes('b') && text.includes('c') ? text : undefined
      })
      assert.match(readyz, /\bb\b.*\bc\b/)
      await until('the log says for whom it waits', () => /has not met b, c yet/.test(log))
    } finally {
      member.kill('SIGKILL')
    }
    const [port] = await freePorts(1)
    const lonely = await open({
      id: 'a',
      memory: true,
      members: { a: at(port), b: at(others[0]), c: at(others[1]) },
      logger: false,
    })
    const error = await failure(lonely.ready({ timeout: '1s' }))
    assert.ok(isLatchkeyError(error, 'ERR_NO_LEADER'), `${error}`)
    assert.deepEqual([...error.missing].toSorted(), ['b', 'c'])
    await lonely.close()
  },

  async '5: close() releases, and the next one has the lock at once'(later) {
    const cluster = later(await testCluster({ members: 3 }))
    const leaving = await cluster.connect()
    const next = await cluster.connect()
    const hold = await leaving.locks.acquire('job', { lease: '10m' })
    await leaving.locks.acquire('another job', { lease: '10m' })
    const waiting = next.locks.acquire('job', { wait: '20s' })
    await until('it waits', async () => (await next.locks.query('job'))[0]?.waiters === 1)
    await leaving.close()
    assert.equal(hold.signal.aborted, true)
    assert.ok((await waiting).token > hold.token)
    assert.equal(await next.locks.releaseAll(), 1)
    assert.deepEqual(await next.locks.query(), [])
  },

  async '6: list, then watch: from the revision of the list, and a bad value is named'(later) {
    await store.put('list/1', 'one')
    const list = await store.scan({ prefix: 'list/' })
    const { revision } = await store.put('list/2', 'two')
    assert.equal(list.revision, revision - 1)
    for await (const event of store.watch({ prefix: 'list/', from: list.revision + 1 }, { as: 'string' })) {
      assert.equal(`${event.key} ${event.value}`, 'list/2 two')
      break
    }
    const bad = await failure(store.scan({ prefix: 'list/' }, { as: 'json' }))
    assert.ok(
      isLatchkeyError(bad, 'ERR_UNDECODABLE') && bad.key === 'list/1' && bad.revision === list.revision,
      `${bad}`,
    )
    const handed = await store.scan({ prefix: 'list/' }, { as: 'json', onUndecodable: 'bytes' })
    assert.equal(Buffer.from(handed[1].value).toString(), 'two')
    const mirror = later(await store.mirror({ prefix: 'list/' }, { as: 'string' }))
    await store.delete('list/1')
    await until('the mirror follows', () => mirror.size === 1 && mirror.get('list/2') === 'two')
  },

  async '6: a watch on a lock tells what happens to it'() {
    const seen = []
    const watch = store.locks.watch('watched')
    const following = (async () => {
      for await (const event of watch) if (seen.push(event.type) === 2) break
    })()
    await new Promise((resolve) => setTimeout(resolve, 100))
    await (await store.locks.acquire('watched')).release()
    await following
    assert.deepEqual(seen, ['acquired', 'released'])
  },

  async '7: keys with a life, counters that count, numbers that compare'(later) {
    const cluster = later(await testCluster({ clock: 'manual' }))
    const { a } = cluster.stores
    await a.put('session', 'x', { ttl: '30s' })
    await cluster.advance('20s')
    assert.equal(await a.touch('session', '30s'), true)
    await cluster.advance('20s')
    assert.equal(await a.containsKey('session'), true)
    await cluster.advance('15s')
    assert.equal(await a.containsKey('session'), false)
    await a.put('n', '9')
    assert.equal((await a.increment('n')).value, 10)
    const tenIsMore = [{ key: 'n', is: '>', value: 9, as: 'number' }]
    assert.equal((await a.txn({ when: tenIsMore, then: [] })).succeeded, true)
  },

  async '7: the keys and locks below a prefix are a store of their own'() {
    const orders = store.sub('orders/')
    await orders.put('42', 'open')
    assert.equal(await store.get('orders/42', { as: 'string' }), 'open')
    assert.deepEqual((await orders.scan({}, { as: 'string' }))[0], { key: '42', value: 'open' })
    const hold = await orders.locks.acquire('42')
    assert.equal((await store.locks.query('orders/42', { as: 'string' }))[0].key, 'orders/42')
    await hold.release()
  },

  async '7: a remote store tells when its connection comes and goes'(later) {
    const cluster = later(await testCluster({ members: 1 }))
    const remote = await cluster.connect()
    const seen = []
    for (const name of ['disconnected', 'connected']) remote.on(name, () => seen.push(name))
    await cluster.kill('a')
    await cluster.start('a')
    await until('both were told', () => seen.includes('disconnected') && seen.includes('connected'))
    await remote.close()
  },

  async '8: the command: milliseconds, the nearest word, holders and their contexts, release by force'() {
    const [port] = await freePorts(1)
    const member = spawn(COMMAND, ['start', '--id', 'a', '--memory', '--listen', `127.0.0.1:${port}`], {
      stdio: 'ignore',
    })
    const at = ['--endpoint', `ws://127.0.0.1:${port}`]
    try {
      await until(
        'ready',
        async () => (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.ok,
      )
      const [plain, stauts, nobody, completion] = await Promise.all([
        latchkey('lock', 'k', ...at, '--lease', '10000', '--', 'true'),
        latchkey('stauts', ...at),
        latchkey('transfer', 'nobody', ...at),
        latchkey('completion', 'bash'),
      ])
      assert.equal(plain.code, 0, plain.err)
      assert.match(stauts.err, /did you mean "?status/)
      assert.ok(nobody.code !== 0 && nobody.millis < 4_500, `transfer nobody took ${nobody.millis} ms`)
      assert.match(completion.out, /complete .*latchkey/)
      const remote = await connect([`ws://127.0.0.1:${port}`])
      await remote.locks.acquire('deploy', { lease: '10m', context: 'Ada, build 7' })
      const [waiting, listed] = await Promise.all([
        latchkey('lock', 'deploy', ...at, '--wait', '300', '--', 'true'),
        latchkey('locks', 'dep', ...at),
      ])
      assert.equal(waiting.code, 75)
      assert.match(waiting.err, /Ada, build 7/)
      assert.match(listed.out, /deploy.*Ada, build 7/s)
      assert.equal((await latchkey('release', 'deploy', '--force', ...at)).code, 0)
      assert.deepEqual(await remote.locks.query(), [])
      await remote.close()
    } finally {
      member.kill('SIGKILL')
    }
  },
}

let failed = 0
for (const [name, judge] of Object.entries(FINDINGS)) {
  const opened = []
  const later = (thing) => (opened.push(thing), thing)
  try {
    await judge(later).finally(() => Promise.all(opened.map((thing) => thing.close())))
    console.log(`+ ${name}`)
  } catch (error) {
    failed++
    console.log(`x ${name}\n  ${error.stack}`)
  }
}
await store.close()
process.exit(failed === 0 ? 0 : 1)
