// Door: reads the tokens file, which is JSON with tokens and perhaps a member token. The file is refused if
// other users of the machine may read or change it. The member reads the file at the start and at each
// reload.

import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { CAPS } from '@latchkey/protocol'

/**
 * The forbidden permissions: any for other users, and writing for the group. The group may read the file,
 * because systemd passes credentials in this way.
 */
const TOO_OPEN = 0o027

interface WrittenAuth {
  readonly tokens?: unknown
  readonly memberToken?: unknown
}

/** Throws a TypeError that says what to do. The message never contains a piece of the file. */
export function readTokensFile(path: string): WrittenAuth {
  const text = readClosed(path)
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    // The message of JSON.parse would show a piece of the text.
    throw new TypeError(`auth.file: ${path} is not JSON, or is incomplete`)
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw new TypeError(
      `auth.file: ${path} must hold an object such as { "tokens": [{ "sha256": "...", "rights": ["read"] }] }`,
    )
  return json
}

function readClosed(path: string): string {
  let file: number
  try {
    // Without O_NONBLOCK, `open` would wait for the writer of a pipe.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (cause) {
    throw new TypeError(`auth.file: ${path} cannot be read: ${(cause as NodeJS.ErrnoException).code}`, {
      cause,
    })
  }
  try {
    const { mode, size, isFile } = look(file)
    if (!isFile) throw new TypeError(`auth.file: ${path} is not a file`)
    refuseOpen(path, mode)
    if (size > CAPS.tokensFile)
      throw new TypeError(`auth.file: ${path} has ${size} bytes; at most ${CAPS.tokensFile}`)
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

function look(file: number) {
  const stat = fstatSync(file)
  return { mode: stat.mode & 0o777, size: stat.size, isFile: stat.isFile() }
}

function refuseOpen(path: string, mode: number): void {
  // On Windows, files have no such permissions.
  if (process.getuid === undefined || (mode & TOO_OPEN) === 0) return
  throw new TypeError(
    `auth.file: other users of this machine may read or change ${path} (its rights are ${mode.toString(8)}): run chmod 600 ${path}`,
  )
}
