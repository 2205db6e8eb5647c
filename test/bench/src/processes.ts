// Door: what the system knows of a process: its CPU time and memory, from /proc.

import { readFileSync } from 'node:fs'
import { pause } from './pause.js'

/** Linux gives it in these, whatever the kernel ticks at. */
const TICKS_PER_SECOND = 100

export function cpuSeconds(pid: number): number {
  // The name stands in brackets and may hold anything; fields are counted behind it.
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

export function residentMiB(pid: number): number {
  const found = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  return Math.round(Number(found?.[1]) / 1024)
}

/** What part of a core each of them uses, over so many seconds. */
export async function cpuOf(pids: readonly number[], seconds: number): Promise<number[]> {
  const before = pids.map(cpuSeconds)
  const began = performance.now()
  await pause(seconds * 1000)
  const took = (performance.now() - began) / 1000
  return pids.map((pid, i) => (cpuSeconds(pid) - (before[i] as number)) / took)
}
