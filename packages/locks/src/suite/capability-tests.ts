// Driver: tests whether the capabilities that an engine declares are true.

import assert from 'node:assert/strict'
import { FenceGuard } from '@latchkey/lock'
import type { Register, SuiteClient } from './suite-types.js'

export function capabilityTests(register: Register): void {
  register("fencing 'enforced': the data store refuses a write with an old token", async (scene) => {
    const [a, b] = [await scene.client(), await scene.client()]
    if (a.capabilities.fencing !== 'enforced') return
    const write = needed(a, 'guardedWrite', 'fencing')
    const hold = await a.locks.acquire(scene.key, { lease: '5m' })
    const old = { key: scene.key, token: hold.token }
    await write(old)
    await assert.rejects(write({ ...old, token: old.token + 1_000_000 }), { code: 'ERR_FENCED' })
    const rotated = { key: scene.key, token: await hold.rotate() }
    await assert.rejects(write(old), { code: 'ERR_FENCED' }, 'the token from before a rotation is still good')
    await write(rotated)
    assert.equal(await b.locks.forceRelease(scene.key, rotated.token), true)
    await assert.rejects(
      write(rotated),
      { code: 'ERR_FENCED' },
      'a write after the end of the hold went through',
    )
    const next = await b.locks.acquire(scene.key)
    await assert.rejects(write(rotated), { code: 'ERR_FENCED' }, 'a former holder wrote beside the next one')
    await write({ key: scene.key, token: next.token })
  })

  register("fencing 'told': a system that compares tokens refuses a former holder", async (scene) => {
    const [a, b] = [await scene.client(), await scene.client()]
    if (a.capabilities.fencing !== 'told') return
    const guard = new FenceGuard()
    const hold = await a.locks.acquire(scene.key)
    await guard.check(scene.key, hold.token)
    await b.locks.forceRelease(scene.key, hold.token)
    const next = await b.locks.acquire(scene.key)
    await guard.check(scene.key, next.token)
    await assert.rejects(guard.check(scene.key, hold.token), { code: 'ERR_FENCED' })
  })

  register(
    'survives: a hold outlives the promised failure, and its holder can renew it afterwards',
    async (scene) => {
      const [a, b] = [await scene.client(), await scene.client()]
      const { survives } = a.capabilities
      if (survives === 'nothing') return
      const harm =
        survives === 'restart' ? needed(a, 'restart', 'survives') : needed(a, 'failover', 'survives')
      const hold = await a.locks.acquire(scene.key, { lease: '60s' })
      const { token } = hold
      await harm()
      assert.equal(await b.locks.tryAcquire(scene.key, { wait: '2s' }), undefined)
      assert.equal(hold.held, true)
      await hold.release()
      const next = await b.locks.acquire(scene.key, { wait: '25s' })
      if (a.capabilities.fencing !== 'none') assert.ok(next.token > token, 'the tokens went back')
    },
  )
}

type Part = 'guardedWrite' | 'restart' | 'failover'

function needed<P extends Part>(client: SuiteClient, part: P, told: string): NonNullable<SuiteClient[P]> {
  const given = client[part]
  const value = String(client.capabilities[told as keyof SuiteClient['capabilities']])
  assert.ok(
    given !== undefined,
    `capabilities.${told} is '${value}': the factory must give ${part}, to prove it`,
  )
  return given.bind(client) as NonNullable<SuiteClient[P]>
}
