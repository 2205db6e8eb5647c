// Driver: the file member.json in a directory. The file has the id of the directory's member, the name of its
// cluster, and the date on which the directory was made. The file also has all addresses that members of the
// cluster have had. Raft's log has neither the cluster's name nor the addresses of removed members.
//
// Laws
//   - The file is valid only if it has exactly the bytes that this build would write for its content, with
//     the checksum. Without this law: a flipped bit changes the id in the file, and the directory seems to
//     belong to another member. The operator then suspects a wrong mount, although the disk is failing.
//   - The addresses of removed members stay in the file, up to MOST_KNOWN addresses. An operator's list of
//     members is often older than the log and names removed members. At its start, a member asks each process
//     at an unknown address for the id of its cluster, and waits for the answers
//     (packages/raft/src/node/data-directory-in-wrong-cluster.ts). The start must not wait for removed
//     members.

import { access, open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { checksum } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'

interface DirOwner {
  readonly id: string
  readonly cluster: string
}

interface Note extends DirOwner {
  readonly born: string
  /** Each address is `id url`. The newest address comes last. */
  readonly known: readonly string[]
}

const NAME = 'member.json'
const VERSION = 2
/** How many addresses the file keeps. The oldest addresses are dropped. */
const MOST_KNOWN = 256

/** The user of this object must hold the lock of the directory. */
export class OwnDirectory {
  readonly #dir: string
  #note: Note
  #writing: Promise<void> = Promise.resolve()

  constructor(dir: string, note: Note) {
    this.#dir = dir
    this.#note = note
  }

  get born(): string {
    return this.#note.born
  }

  /** Also true for an earlier address of the member `id`. */
  knows(id: string, url: string): boolean {
    return this.#note.known.includes(`${id} ${url}`)
  }

  written(): Promise<void> {
    return this.#writing
  }

  /** Resolves when the new addresses are on disk. */
  learn(members: Readonly<Record<string, string>>): Promise<void> {
    const fresh = Object.entries(members).filter(([id, url]) => url !== '' && !this.knows(id, url))
    if (fresh.length === 0) return this.#writing
    const known = [...this.#note.known, ...fresh.map(([id, url]) => `${id} ${url}`)].slice(-MOST_KNOWN)
    this.#note = { ...this.#note, known }
    // Each write starts after the end of the previous one. Otherwise two writes would mix their bytes in one
    // file. If a write fails, the next write also contains the addresses of the failed write.
    this.#writing = this.#writing.catch(() => {}).then(() => writeNote(this.#dir, this.#note))
    return this.#writing
  }
}

/**
 * Rejects with ERR_WRONG_CLUSTER if the file names another member or cluster. Without the file, this member
 * becomes the owner. The caller must hold the lock of the directory.
 */
export async function claimDirectory(dir: string, { id, cluster }: DirOwner): Promise<OwnDirectory> {
  const found = await readNote(dir)
  // clock: the date is for people to read, and no decision depends on it.
  const note = found ?? { id, cluster, born: new Date().toISOString(), known: [] }
  if (found === undefined) await writeNote(dir, note)
  if (note.id === id && note.cluster === cluster) return new OwnDirectory(dir, note)
  throw new LatchkeyError(
    'ERR_WRONG_CLUSTER',
    `The directory ${dir}, made ${note.born}, belongs to member ${note.id} of cluster ${note.cluster}, not to ${id} of ${cluster}. Check dir, id and cluster.`,
  )
}

export async function ownerOf(dir: string): Promise<DirOwner | undefined> {
  const note = await readNote(dir)
  return note && { id: note.id, cluster: note.cluster }
}

export const isClaimed = (dir: string): Promise<boolean> =>
  access(join(dir, NAME)).then(
    () => true,
    () => false,
  )

async function readNote(dir: string): Promise<Note | undefined> {
  let bytes: Buffer
  try {
    bytes = await readFile(join(dir, NAME))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  const note = parse(bytes)
  if (note !== undefined) return note
  throw new LatchkeyError(
    'ERR_CORRUPT',
    `${NAME} in ${dir} is damaged at offset 0: its checksum does not match. The file only says to which member the directory belongs: if you are sure of the member, delete the file and start again. Then check the disk: other files may be damaged too.`,
  )
}

function parse(bytes: Buffer): Note | undefined {
  try {
    const { id, cluster, born, known } = JSON.parse(bytes.toString()) as Note
    const note = { id, cluster, born, known }
    return render(note).equals(bytes) ? note : undefined
  } catch {
    return undefined
  }
}

function render({ id, cluster, born, known }: Note): Buffer {
  const said = { version: VERSION, id, cluster, born, known }
  const check = checksum(Buffer.from(JSON.stringify(said)))
    .toString(16)
    .padStart(8, '0')
  return Buffer.from(`${JSON.stringify({ ...said, checksum: check })}\n`)
}

/**
 * The file gets its name after it is synced. So a crash never leaves half a file with the name member.json.
 */
async function writeNote(dir: string, note: Note): Promise<void> {
  const path = join(dir, NAME)
  const file = await open(`${path}.new`, 'w', 0o600)
  try {
    await file.writeFile(render(note))
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(`${path}.new`, path)
  const folder = await open(dir, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
