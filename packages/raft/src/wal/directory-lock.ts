// Driver: lets only one process at a time use a data directory (D13).
//
// A process that opens the directory creates a lock file in the directory. The file's name identifies the
// process:
//
//   lock.<pid>.<start time of the process>.<pid namespace>.<boot id of the machine>.<nonce>
//
// The file is empty at first. The process writes a line into the file once the process has the lock. Below,
// an opener is a process that has created its lock file.
//
// Laws:
//   DL1  An opener first creates its own file, then lists the files of the directory. The opener gets the
//        lock only if the list has no file of another living opener. Only the opener itself removes its file
//        while the opener lives. So of two openers at least one sees the file of the other, and at most one
//        gets the lock.
//   DL2  The lock file of a dead process locks nothing. The operating system says whether a process lives, by
//        its process id and its start time. So the directory can be opened again after kill -9, after a
//        restart of the machine, and when a process id was given to a new process. An opener removes the
//        files of dead processes.
//   DL3  No process renames a lock file or takes over the lock file of another process. A listing of a folder
//        may miss a name that changes during the listing.
//   DL4  If several openers try at the same time, the opener with the lowest nonce waits until the lock files
//        of the other openers are gone. The other openers give up and remove their files.
//
// This lock does not see two kinds of processes. A process in another pid namespace (a container) counts as
// dead, because otherwise the directory of a killed container would stay locked. A process on another machine
// is not visible at all. In both cases the lock of LevelDB, which the kernel keeps, refuses the second
// process. So a member opens LevelDB before the log.

import { randomBytes } from 'node:crypto'
import { readdir, readFile, readlink, stat, unlink, writeFile } from 'node:fs/promises'
import type { Clock } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import { joinPath } from './file-system-interface.js'
import { makeFolders } from './make-folders.js'

interface DirLock {
  release(): Promise<void>
}

/** The parts of a lock file's name that identify its process. An unknown part is '0'. */
export interface ProcessName {
  readonly pid: number
  readonly start: string
  readonly namespace: string
  readonly boot: string
}

export interface Processes {
  self(): Promise<ProcessName>
  alive(other: ProcessName, self: ProcessName): Promise<boolean>
}

const POLL_MS = 10
const PATIENCE_MS = 5000
const FILE_NAME = /^lock\.(\d+)\.(\d+)\.(\d+)\.([0-9a-f]+)\.([0-9a-f]{16})$/

interface Opener {
  readonly file: string
  readonly process: ProcessName
  readonly nonce: string
}

function parse(file: string): Opener | undefined {
  const parts = FILE_NAME.exec(file)?.slice(1)
  if (parts === undefined) return undefined
  const [pid, start, namespace, boot, nonce] = parts as [string, string, string, string, string]
  return { file, process: { pid: Number(pid), start, namespace, boot }, nonce }
}

const draw = ({ pid, start, namespace, boot }: ProcessName, nonce: string): string =>
  `lock.${pid}.${start}.${namespace}.${boot}.${nonce}`

/** Rejects with ERR_DIR_LOCKED if the directory is already open, in another process or in this process. */
export async function lockDirectory(
  dir: string,
  clock: Clock,
  processes = systemProcesses,
): Promise<DirLock> {
  await makeFolders(dir)
  const self = await processes.self()
  const nonce = randomBytes(8).toString('hex')
  const path = joinPath(dir, draw(self, nonce))
  await writeFile(path, '', { flag: 'wx', mode: 0o600 })
  try {
    await waitForTurn(dir, clock, processes, self, nonce)
    await writeFile(path, `held by process ${self.pid}\n`)
  } catch (error) {
    await sweep(path)
    throw error
  }
  return { release: () => sweep(path) }
}

/**
 * Rejects with ERR_DIR_LOCKED if the directory is open or is being opened, in any process. This function
 * creates no file and does not wait.
 */
export async function refuseLocked(dir: string, processes = systemProcesses): Promise<void> {
  const self = await processes.self()
  const [other] = (await unlessGone(livingOthers(dir, processes, self, ''))) ?? []
  if (other !== undefined) throw locked(dir, other)
}

async function waitForTurn(
  dir: string,
  clock: Clock,
  processes: Processes,
  self: ProcessName,
  nonce: string,
): Promise<void> {
  const givesUpAt = clock.now() + PATIENCE_MS
  for (;;) {
    const others = await livingOthers(dir, processes, self, nonce)
    const [first] = others
    if (first === undefined) return
    for (const other of others) {
      if (other.nonce < nonce || (await isHeld(joinPath(dir, other.file)))) throw locked(dir, other)
    }
    if (clock.now() > givesUpAt) throw locked(dir, first)
    await new Promise<void>((done) => clock.after(POLL_MS, done))
  }
}

async function livingOthers(
  dir: string,
  processes: Processes,
  self: ProcessName,
  nonce: string,
): Promise<Opener[]> {
  const living: Opener[] = []
  for (const file of await readdir(dir)) {
    const opener = parse(file)
    if (opener === undefined || opener.nonce === nonce) continue
    if (await processes.alive(opener.process, self)) living.push(opener)
    else await sweep(joinPath(dir, file))
  }
  return living
}

async function isHeld(path: string): Promise<boolean> {
  const found = await unlessGone(stat(path))
  return found !== undefined && found.size > 0
}

async function sweep(path: string): Promise<void> {
  await unlessGone(unlink(path))
}

async function unlessGone<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ESRCH') return undefined
    throw error
  }
}

const locked = (dir: string, { process: { pid } }: Opener): LatchkeyError =>
  new LatchkeyError(
    'ERR_DIR_LOCKED',
    `Process ${pid} holds the directory ${dir}, or ${dir} is a copy of a directory that is in use, which must not be started beside it. Give each process a directory of its own, or run one sidecar and connect to it.`,
  )

/**
 * Reads process ids and start times from /proc. On systems without /proc, only the process id identifies a
 * process.
 */
export const systemProcesses: Processes = {
  async self() {
    const boot = await unlessGone(readFile('/proc/sys/kernel/random/boot_id', 'utf8'))
    const namespace = await unlessGone(readlink('/proc/self/ns/pid'))
    return {
      pid: process.pid,
      start: (await statusOf(process.pid))?.start ?? '0',
      namespace: namespace?.replace(/\D/g, '') || '0',
      boot: boot?.replace(/[^0-9a-f]/g, '') || '0',
    }
  },

  async alive(other, self) {
    if (other.boot !== self.boot || other.namespace !== self.namespace) return false
    if (self.start === '0') return answersSignals(other.pid)
    const status = await statusOf(other.pid)
    return status !== undefined && status.start === other.start && !status.over
  },
}

interface Status {
  /** In clock ticks since the machine booted. */
  readonly start: string
  /** True if the process has ended but is still in the process table (a zombie). */
  readonly over: boolean
}

async function statusOf(pid: number): Promise<Status | undefined> {
  const line = await unlessGone(readFile(`/proc/${pid}/stat`, 'utf8'))
  if (line === undefined) return undefined
  // The second field is the name of the program in brackets. The name may contain spaces and brackets. So the
  // fields are counted from the last closing bracket.
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
  const dead = fields[0] === 'Z' || fields[0] === 'X'
  return { start: fields[19] ?? '0', over: dead && (await threadsOf(pid)) <= 1 }
}

/**
 * A killed process has ended only when its last thread has left the kernel. Until then a thread may still
 * write to the disk.
 */
async function threadsOf(pid: number): Promise<number> {
  return (await unlessGone(readdir(`/proc/${pid}/task`)))?.length ?? 0
}

function answersSignals(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
