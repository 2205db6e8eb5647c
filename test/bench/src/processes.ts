// Door: what the system knows of a process: its CPU time and memory, from /proc.

import { readFileSync } from 'node:fs'

const TICKS_PER_SECOND = 100

export interface Usage {
  readonly cpuSeconds: number
  readonly rssMiB: number
}

export function usage(pid: number): Usage {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  const rss = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return {
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND,
    rssMiB: Math.round(Number(rss) / 1024),
  }
}
