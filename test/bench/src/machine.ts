// Driver: on what a run took place, as far as it matters to the figures.

import { mkdtemp, open, rm } from 'node:fs/promises'
import { cpus, loadavg, platform, release, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { quantiles, round } from './measure.js'
import type { Machine } from './report/report.js'

export async function describeMachine(): Promise<Machine> {
  const [first] = cpus()
  return {
    cores: cpus().length,
    cpu: first?.model.trim() ?? 'unknown',
    memoryGiB: Math.round(totalmem() / 1024 ** 3),
    node: process.versions.node,
    system: `${platform()} ${release().split('.').slice(0, 2).join('.')}`,
    loadAverage: round(loadavg()[0] ?? 0, 1),
    syncMillis: await syncMillis(),
  }
}

const SYNCS = 200

async function syncMillis(): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-sync-'))
  const file = await open(join(folder, 'file'), 'a')
  const bytes = Buffer.alloc(256)
  const millis: number[] = []
  for (let i = 0; i < SYNCS; i++) {
    const began = performance.now()
    await file.write(bytes)
    await file.datasync()
    millis.push(performance.now() - began)
  }
  await file.close()
  await rm(folder, { recursive: true, force: true })
  return quantiles(millis).p50
}
