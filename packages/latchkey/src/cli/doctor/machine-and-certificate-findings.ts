// Rule: judges the machine on which `latchkey doctor` runs, and judges certificates by their dates.

import { CAPS } from '@latchkey/protocol'
import { megabytes } from '../print-values.js'
import type { CertificateFacts, DirFacts, Finding, MachineFacts } from './collected-facts.js'

/**
 * In ms, for one write with its sync. A time of SLOW_SYNC_MS or more is a warning, and a time of BAD_SYNC_MS
 * or more is an error. A member syncs its log before it answers. So slow syncs make each write slow.
 */
const SLOW_SYNC_MS = 25
const BAD_SYNC_MS = 100
/**
 * If this system allows fewer open files than FEW_FILES, a member soon fails. If this system allows fewer
 * than ENOUGH_FILES, a member cannot reach its limit of connections.
 */
const FEW_FILES = 1024
const ENOUGH_FILES = CAPS.connections + 1000
/**
 * In bytes. Besides the space for a second copy of the state and the log, a disk needs at least this much
 * free space.
 */
const LEAST_FREE = 256 * 1024 * 1024
/** In days. The doctor warns about a certificate that expires within this time. */
const WARN_DAYS = 14
const DAY_MS = 86_400_000

const HERE = 'this machine'

export function machineFindings({ dir, openFiles, certificates, dateMillis }: MachineFacts): Finding[] {
  return [
    ...dirFindings(dir),
    filesFinding(openFiles),
    ...certificates.map((one) => certificateFinding(one, dateMillis)),
  ]
}

function dirFindings(dir: DirFacts | undefined): Finding[] {
  if (dir === undefined)
    return [
      {
        check: 'disk',
        level: 'skipped',
        about: HERE,
        message: 'no disk was measured',
        advice: 'give --dir PATH, the directory of a member, to measure its disk',
      },
    ]
  if (dir.error !== undefined)
    return [
      {
        check: 'disk',
        level: 'error',
        about: dir.path,
        message: `cannot be used: ${dir.error}`,
        advice:
          'give the directory of a member, run as the user of the member, and look at its rights and at the system log',
      },
    ]
  const ofSyncs = dir.syncMillis.length === 0 ? [] : [syncFinding(dir)]
  return [...ofSyncs, spaceFinding(dir.path, dir.freeBytes, dir.totalBytes, 0)]
}

function syncFinding({ path, syncMillis }: DirFacts): Finding {
  const sorted = [...syncMillis].sort((a, b) => a - b)
  const middle = sorted[Math.floor(sorted.length / 2)] ?? 0
  const message = `a write of 4 KiB with its sync takes ${middle.toFixed(1)} ms (the slowest of ${sorted.length}: ${(sorted.at(-1) ?? 0).toFixed(1)} ms)`
  if (middle < SLOW_SYNC_MS) return { check: 'disk', level: 'ok', about: path, message }
  return {
    check: 'disk',
    level: middle < BAD_SYNC_MS ? 'warning' : 'error',
    about: path,
    message,
    advice:
      'every write waits for such a sync: use a local SSD, not a network disk, and look which other process writes to it',
  }
}

/**
 * In bytes. `needed` is the present size of the state and the log. A member needs as much again for a
 * snapshot, because the old state exists until the snapshot is complete.
 */
export function spaceFinding(about: string, free: number, total: number, needed: number): Finding {
  const message = `${megabytes(free)} of ${megabytes(total)} are free`
  const advice = 'free some space, or enlarge the disk: a member whose disk is full stops'
  if (free < LEAST_FREE + needed) return { check: 'space', level: 'error', about, message, advice }
  if (free < 4 * LEAST_FREE + 2 * needed) return { check: 'space', level: 'warning', about, message, advice }
  return { check: 'space', level: 'ok', about, message }
}

function filesFinding(limit: number | undefined): Finding {
  const about = HERE
  if (limit === undefined)
    return {
      check: 'files',
      level: 'skipped',
      about,
      message: 'the limit on open files is not known on this system',
      advice: "look at it with 'ulimit -n'",
    }
  const message = `a process that is started here may open ${limit === Number.POSITIVE_INFINITY ? 'any number of' : limit} files`
  if (limit >= ENOUGH_FILES) return { check: 'files', level: 'ok', about, message }
  return {
    check: 'files',
    level: limit < FEW_FILES ? 'error' : 'warning',
    about,
    message,
    advice: `a port accepts ${CAPS.connections} connections by default: raise the limit to ${ENOUGH_FILES} or more (LimitNOFILE= of systemd, --ulimit nofile= of Docker, 'ulimit -n'), or give members a smaller --max-connections`,
  }
}

export function certificateFinding({ place, name, from, to }: CertificateFacts, now: number): Finding {
  const base = { check: 'certificate', about: place } as const
  const called = `the certificate ${JSON.stringify(name)}`
  if (now > to)
    return {
      ...base,
      level: 'error',
      message: `${called} has expired on ${dateOf(to)}`,
      advice: 'replace the file: a member reads it again without a restart',
    }
  if (now < from)
    return {
      ...base,
      level: 'error',
      message: `${called} is not valid before ${dateOf(from)}`,
      advice: "compare the date of this machine and the member's: one of them may be wrong",
    }
  const days = Math.floor((to - now) / DAY_MS)
  const message = `${called} is valid until ${dateOf(to)}, for ${days} days`
  if (days >= WARN_DAYS) return { ...base, level: 'ok', message }
  return {
    ...base,
    level: 'warning',
    message,
    advice: 'replace the file before that date: a member reads it again without a restart',
  }
}

const dateOf = (ms: number): string => new Date(ms).toISOString()
