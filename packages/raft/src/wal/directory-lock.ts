// Driver: lets only one process use a data directory (D13). Each process that opens it (an opener)
// creates a lock file of its own, whose name identifies the process. Then the opener looks for the lock
// files of others.
//
//   lock.<pid>.<start time of the process>.<its pid namespace>.<boot of the machine>.<nonce>
//   (the file is empty while its opener tries, and not empty once it has the lock)
//
// Laws:
//   DL1  An opener gets the lock only if it has looked for others after its own file existed, and has seen no
//        other living opener. Files are only added before looking, and a living opener's file is removed by
//        that opener alone. So of two openers at least one sees the other, and they never both get the lock.
//   DL2  No lock is stale. The system says whether an opener is alive, by process id and start time. So a
//        directory is not locked for ever after kill -9, after a restart of the machine, or when a process id
//        is used again. Files of dead openers are removed.
//   DL3  No file is ever renamed or taken over, because a listing of a folder may miss a name that
//        changes meanwhile.
//   DL4  If several openers try at once, the one with the lowest nonce stays and the others give up. The one
//        that stays waits until the others are gone or one of them holds the lock.
//
// Two cases cannot be seen. A process in another pid namespace (a container) counts as dead. Otherwise
// the directory of a killed container would stay locked. A process on another machine is not seen at
// all. LevelDB's own lock, which the kernel keeps, is the second guard in these cases. So open LevelDB
// before the log.

import { randomBytes } from 'node:crypto'
import { readdir, readFile, readlink, stat, unlink, writeFile } from 'node:fs/promises'
import type { Clock } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import { joinPath } from './file-system.js'
import { makeFolders } from './make-folders.js'

export interface DirLock {
  release(): Promise<void>
}

/** A process as the name of its lock file describes it. Unknown parts are '0'. */
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

/** Rejects with ERR_DIR_LOCKED if another opener, in this process or another one, has the directory. */
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
 * Rejects with ERR_DIR_LOCKED if an opener is alive, in this process or another one. Creates no file, and
 * does not wait.
 */
export async function refuseLocked(dir: string, processes = systemProcesses): Promise<void> {
  const self = await processes.self()
  const [other] = (await unlessGone(livingOthers(dir, processes, self, ''))) ?? []
  if (other !== undefined) throw locked(dir, other)
}

/** Returns once no other opener is alive. */
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

/** Reads /proc. On systems without /proc only the process id is used. */
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
  /** In ticks since the boot of the machine. */
  readonly start: string
  /** True for a zombie: the process is dead, and its parent has not collected it yet. */
  readonly over: boolean
}

async function statusOf(pid: number): Promise<Status | undefined> {
  const line = await unlessGone(readFile(`/proc/${pid}/stat`, 'utf8'))
  if (line === undefined) return undefined
  // The name, in brackets, may contain any characters, so the fields after it are counted from
  // the last bracket.
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
  const dead = fields[0] === 'Z' || fields[0] === 'X'
  return { start: fields[19] ?? '0', over: dead && (await threadsOf(pid)) <= 1 }
}

/**
 * Returns the number of threads of a process. A killed process has ended only when its last thread has left
 * the kernel. Until then a thread may still be writing to the disk.
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
