// Driver: the file in a directory that names its owner: the member, the name of its cluster, the date when
// the directory was made, and all addresses that members of its cluster have had. The log also names the
// member, but it has no name of the cluster and no former members.
//
// Laws
//   - The file is valid only if it is, byte for byte, what this build would write for its content, with the
//     checksum. Without this law: a flipped bit in the name makes the directory look like another member's,
//     and the operator searches for a wrong mount although the disk is at fault.
//   - An address of a former member is kept while there is room. An operator's list of members is often older
//     than the log and names removed members. Removed members are no strangers
//     (packages/raft/src/node/wrong-cluster-check.ts), so no start waits for their answers.

import { access, open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { checksum } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'

export interface DirOwner {
  readonly id: string
  readonly cluster: string
}

interface Note extends DirOwner {
  /** The date when the directory was made, in ISO format. */
  readonly born: string
  /** Lists each address that a member of the cluster has had, as `id url`. The newest comes last. */
  readonly known: readonly string[]
}

const NAME = 'member.json'
const VERSION = 2
/** How many addresses are kept. The oldest ones are dropped. */
const MOST_KNOWN = 256

/**
 * A directory whose owner is this member. The caller holds the lock of the directory as long as it uses this
 * object.
 */
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

  /** Whether a member of this directory's cluster has had this address. */
  knows(id: string, url: string): boolean {
    return this.#note.known.includes(`${id} ${url}`)
  }

  /** Resolves when all known addresses are written, or when writing has failed. */
  written(): Promise<void> {
    return this.#writing
  }

  /** Adds the addresses of the present members. Resolves when these addresses are written. */
  learn(members: Readonly<Record<string, string>>): Promise<void> {
    const fresh = Object.entries(members).filter(([id, url]) => url !== '' && !this.knows(id, url))
    if (fresh.length === 0) return this.#writing
    const known = [...this.#note.known, ...fresh.map(([id, url]) => `${id} ${url}`)].slice(-MOST_KNOWN)
    this.#note = { ...this.#note, known }
    // Writes run one after the other, because two writers would mix their bytes in one file. Addresses whose
    // write has failed are part of the next write.
    this.#writing = this.#writing.catch(() => {}).then(() => writeNote(this.#dir, this.#note))
    return this.#writing
  }
}

/**
 * Rejects with ERR_WRONG_CLUSTER if the directory belongs to another member. If the directory has no such
 * file, this member becomes its owner. The caller holds the lock of the directory.
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

/** Returns the owner that the directory names, or undefined if it names none. */
export async function ownerOf(dir: string): Promise<DirOwner | undefined> {
  const note = await readNote(dir)
  return note && { id: note.id, cluster: note.cluster }
}

/** Whether the directory has an owner. */
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
    `${NAME} in ${dir} is damaged at offset 0: its checksum does not match. It only says whose directory this is: if you are sure of that, delete it and start again. Then look at the disk: other files may be damaged too.`,
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

/** Writes the file. The file gets its name after it is complete and synced. */
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
