// Driver: `latchkey console`, which prints the address of a member's web console and opens it in the browser.

import { isLatchkeyError } from '@latchkey/protocol'
import { type Command, flag, type Line, words } from './command-description-and-parser.js'
import { EXIT } from './exit-codes.js'
import type { Io } from './command-io-interface.js'
import { jsonLine } from './print-values.js'
import { connectOptions, endpoints, JSON_OPTION, STORE_OPTIONS } from './store-connection-of-command.js'

export const consoleCommand: Command = {
  name: 'console',
  usage: '',
  summary: 'Print the address of the console, a web page with the members, locks and keys of the cluster.',
  notes: `Every member that runs as 'latchkey start' serves the console on its own port. The command prints the address of the first
member that answers. If the members have tokens, the page asks for a token. The address never contains a token.`,
  options: {
    open: { type: 'boolean', help: 'open the page in the browser of this machine' },
    ...JSON_OPTION,
    ...STORE_OPTIONS,
  },
  examples: ['latchkey console', 'latchkey console --open --endpoint ws://127.0.0.1:7002'],
  async run(line, io) {
    words(line, 0, 0)
    const url = `${(await firstThatAnswers(line, io)).replace(/^ws/, 'http').replace(/\/+$/, '')}/`
    io.out(flag(line, 'json') ? jsonLine({ url }) : `${url}\n`)
    if (flag(line, 'open')) await open(url, io)
    return EXIT.ok
  },
}

/**
 * Returns the address of the first member that answers. A refusal of the token is also an answer, because the
 * console itself asks for a token.
 */
async function firstThatAnswers(line: Line, io: Io): Promise<string> {
  let last: unknown
  for (const url of endpoints(line, io)) {
    try {
      await (await io.connect([url], connectOptions(line, io))).close()
      return url
    } catch (error) {
      if (isLatchkeyError(error, 'ERR_UNAUTHORIZED')) return url
      last = error
    }
    io.interrupted.throwIfAborted()
  }
  throw last
}

const OPENERS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['explorer.exe'],
}

async function open(url: string, io: Io): Promise<void> {
  const [command, ...args] = OPENERS[process.platform] ?? ['xdg-open']
  const child = io.spawn(command, [...args, url], io.env, 'quiet')
  const failure = await new Promise<Error | undefined>((resolve) => {
    child.once('error', resolve)
    child.once('spawn', () => resolve(undefined))
  })
  if (failure !== undefined)
    io.err(`latchkey: no browser could be opened (${failure.message}); the address is above\n`)
}
