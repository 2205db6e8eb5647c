// Driver: the note in a directory that says whose it is: the member, the name of its cluster, when the directory was made, and which
// addresses its cluster has had. The log knows the member too, but neither the cluster's name nor the members of former times.
//
// Laws
//   - The file counts as written only if it is, byte for byte, what this build would write for what it says, its checksum included.
//     Without that a flipped bit in a name passed for another member's directory, and the operator looked for a wrong mount
//     where the disk was at fault.
//   - An address that was once a member's is never forgotten while there is room. An operator's list of members is often older than
//     the log, and names members that were removed: they are no strangers (packages/raft/src/node/one-cluster.ts), and nobody waits for them.

import { access, open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { checksum } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'

export interface DirOwner {
  readonly id: string
  readonly cluster: string
}

interface Note extends DirOwner {
  /** When the directory was made, as an ISO date. */
  readonly born: string
  /** `id url` of every member that its cluster has had, the newest last. */
  readonly known: readonly string[]
}

const NAME = 'member.json'
const VERSION = 2
/** Beyond, the oldest are forgotten. */
const MOST_KNOWN = 256

/** A directory that is this member's. The caller holds its lock for as long as this is used. */
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

  /** Whether that address has been a member's of this directory's cluster. */
  knows(id: string, url: string): boolean {
    return this.#note.known.includes(`${id} ${url}`)
  }

  /** Resolves when all that was learned is written down, or could not be. */
  written(): Promise<void> {
    return this.#writing
  }

  /** Those are members now. Resolves when it is written down. */
  learn(members: Readonly<Record<string, string>>): Promise<void> {
    const fresh = Object.entries(members).filter(([id, url]) => url !== '' && !this.knows(id, url))
    if (fresh.length === 0) return this.#writing
    const known = [...this.#note.known, ...fresh.map(([id, url]) => `${id} ${url}`)].slice(-MOST_KNOWN)
    this.#note = { ...this.#note, known }
    // One after the other: two writers of one file would mix. What failed before is written with what comes now.
    this.#writing = this.#writing.catch(() => {}).then(() => writeNote(this.#dir, this.#note))
    return this.#writing
  }
}

/** Rejects with ERR_WRONG_CLUSTER when it is another's. A directory without a note becomes this one's. The caller holds its lock. */
export async function claimDirectory(dir: string, { id, cluster }: DirOwner): Promise<OwnDirectory> {
  const found = await readNote(dir)
  // clock: a date for people to read, which nothing is decided by.
  const note = found ?? { id, cluster, born: new Date().toISOString(), known: [] }
  if (found === undefined) await writeNote(dir, note)
  if (note.id === id && note.cluster === cluster) return new OwnDirectory(dir, note)
  throw new LatchkeyError(
    'ERR_WRONG_CLUSTER',
    `The directory ${dir}, made ${note.born}, belongs to member ${note.id} of cluster ${note.cluster}, not to ${id} of ${cluster}. Check dir, id and cluster.`,
  )
}

/** Whether somebody's member lives in that directory. */
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

/** Complete and synced before it gets its name. */
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
