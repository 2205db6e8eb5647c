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

/** CPU seconds so far of these and of their children: some servers are a process a connection. */
export function cpuByProcess(pids: readonly number[]): Map<number, number> {
  return new Map(withChildren(pids).map((pid) => [pid, cpuSeconds(pid)]))
}

/** Those that came meanwhile count whole. */
export function spentSince(before: ReadonlyMap<number, number>, now: ReadonlyMap<number, number>): number {
  return [...now].reduce((sum, [pid, seconds]) => sum + seconds - (before.get(pid) ?? 0), 0)
}

function withChildren(pids: readonly number[]): number[] {
  return pids.flatMap((pid) => [pid, ...withChildren(childrenOf(pid))])
}

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return text === '' ? [] : text.split(' ').map(Number)
}

export const residentMiB = (pid: number): number => statusMiB(pid, 'VmRSS')

/** Without the files that it has mapped, which the system takes back when it wants to. */
export const ownMiB = (pid: number): number => statusMiB(pid, 'RssAnon')

function statusMiB(pid: number, name: string): number {
  const found = new RegExp(`${name}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
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
