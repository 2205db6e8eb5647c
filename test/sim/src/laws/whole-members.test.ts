// Test: Raft's laws also check whole members: in the whole profile, a bug of the core breaks a law.

import { expect, test } from 'vitest'
import { bugs } from '../bugs/all.js'
import { drawWhole } from '../whole/options.js'
import { loadProduct } from '../whole/product-modules.js'
import { runWhole } from '../whole/run-seed.js'

const SEED = 1

test.each([
  ['E1', 'vote reply before sync', 'disk-before-word'],
  ['CT2', 'stamp from a clock reading of the last tick', 'cluster-time'],
])('%s: %s breaks %s', async (_, name, broken) => {
  const bug = bugs.find((one) => one.name === name)
  if (bug === undefined) throw new Error(`there is no bug "${name}"`)
  const { product, remove } = await loadProduct(bug.changes)
  try {
    expect(await runWhole(drawWhole(SEED, 'power'), product)).toMatchObject({
      verdict: 'safety',
      law: broken,
    })
  } finally {
    remove()
  }
  const sound = await loadProduct()
  try {
    expect(await runWhole(drawWhole(SEED, 'power'), sound.product)).toMatchObject({ verdict: 'pass' })
  } finally {
    sound.remove()
  }
})
