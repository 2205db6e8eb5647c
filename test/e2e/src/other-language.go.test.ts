// Test: a program with only Go's standard library uses HTTP: lists, transactions, watches, and a lock that
// waits and is renewed.

import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Cluster } from '@latchkey/test-chaos/cluster'
import { expect, test } from 'vitest'
import { toldByOtherLanguage } from './actors/other-language.js'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../../', import.meta.url))

test('Go through HTTP', async () => {
  const go = process.env.GO
  if (go === undefined) throw new Error('GO is missing: run npm run test:go')
  const cluster = await Cluster.start({ size: 3 })
  const cache = await mkdtemp(join(tmpdir(), 'latchkey-go-'))
  try {
    const env = { ...process.env, GOCACHE: cache, GOFLAGS: '-mod=mod', GOTOOLCHAIN: 'local' }
    const { stdout } = await run(go, ['run', 'examples/http_store.go', cluster.members[1]?.http as string], {
      cwd: root,
      env,
    })
    expect(stdout.toLowerCase()).toBe(toldByOtherLanguage('go'))
  } finally {
    await cluster.destroy()
    await rm(cache, { recursive: true, force: true })
  }
})
