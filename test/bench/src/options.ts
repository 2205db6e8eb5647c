// Door: the words after `npm run bench --`.

import { parseArgs } from 'node:util'
import { PEERS, SCENES } from './plan.js'

export interface Options {
  readonly seconds: number
  readonly quick: boolean
  /** The names of those that are measured as well. */
  readonly peers: readonly string[]
  /** The lock engines instead of the scenes. */
  readonly engines: boolean
  readonly only: readonly string[]
  readonly json: string | undefined
  readonly markdown: string | undefined
  readonly readme: string | undefined
  readonly chart: string | undefined
}

/** What a look in under a minute has room for. */
const QUICK = ['loads', 'hand-over', 'failover', 'stop', 'proposals']

/** Scenes that run only when they are named: one takes ten minutes, the other explains and judges nothing. */
const BY_NAME = ['soak', 'trace']

const WHOLE = SCENES.map(({ name }) => name).filter((name) => !BY_NAME.includes(name))

const NAMES = PEERS.map(({ name }) => name).join(', ')

export const HELP = `Usage: npm run bench -- [options]

Puts three real Latchkey processes, and with --peers what else is installed, under the same loads, one after the other, and tells
throughput, p50, p99, samples and errors of each, and which goals are met. On a quiet machine with two cores a run takes about ten
minutes, and with all peers less than 25.

  --peers           also ${NAMES}, where they are installed
  --against A,B     of these peers only those
  --engines         the lock engines instead: each of docs/engines.md in one run, on servers that scripts/servers.sh starts
  --only A,B        these scenes alone (below)
  --seconds N       counted seconds of each load, 3 by default
  --quick           a look in under a minute, peers aside: ${QUICK.join(', ')}, in short
  --json FILE       everything that was found
  --markdown FILE   the same as a page; in a page that has a part marked for it, only that part is replaced
  --readme FILE     with --peers and --markdown: the table of a README that compares the systems, in the part marked for it
  --chart FILE      throughput and p99 over callers, as SVG
  -h, --help

Scenes:
${SCENES.map(({ name, about }) => `  ${name.padEnd(13)} ${about}`).join('\n')}

Exit code: 0 each goal whose scenes and peers took part is met, and nothing failed; 1 not so, or the code was compiled during
the run; 2 wrong options, or no bundle that is as new as the compiled code; 130 or 143 by a signal.`

/** A text says what is wrong. */
export function readOptions(words: readonly string[]): Options | 'help' | { readonly wrong: string } {
  try {
    const { values } = parseArgs({
      args: [...words],
      options: {
        seconds: { type: 'string' },
        quick: { type: 'boolean', default: false },
        peers: { type: 'boolean', default: false },
        against: { type: 'string' },
        engines: { type: 'boolean', default: false },
        only: { type: 'string' },
        json: { type: 'string' },
        markdown: { type: 'string' },
        readme: { type: 'string' },
        chart: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    })
    if (values.help) return 'help'
    const { quick, engines, json, markdown, readme, chart } = values
    const peers = peerNames(values.peers, values.against)
    const seconds = values.seconds === undefined ? (quick ? 1 : 3) : Number(values.seconds)
    if (!(seconds >= 0.1 && seconds <= 600)) return { wrong: '--seconds is a number from 0.1 to 600' }
    const only = sceneNames(values.only, quick)
    const options = { seconds, quick, peers, engines, only, json, markdown, readme, chart }
    if (readme !== undefined && (!isWhole(options) || markdown === undefined))
      return { wrong: '--readme needs --markdown, and a run of all scenes with --peers' }
    return options
  } catch (error) {
    return { wrong: (error as Error).message }
  }
}

/** A run of all scenes and all peers. Only such a run fills the tables that compare systems. */
export const isWhole = ({ quick, engines, only, peers }: Options): boolean =>
  !quick &&
  !engines &&
  WHOLE.every((name) => only.includes(name)) &&
  PEERS.every(({ name }) => peers.includes(name))

function peerNames(all: boolean, list: string | undefined): readonly string[] {
  const known = PEERS.map(({ name }) => name)
  if (list === undefined) return all ? known : []
  return chosen(list, known, 'peer')
}

/** The names of a list, all of which have to be known. */
function chosen(list: string, known: readonly string[], what: string): readonly string[] {
  const names = list.split(',')
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw new Error(`no ${what} ${JSON.stringify(unknown)}; there are: ${known.join(', ')}`)
  return names
}

function sceneNames(list: string | undefined, quick: boolean): readonly string[] {
  if (list === undefined && quick) return QUICK
  if (list === undefined) return WHOLE
  return chosen(
    list,
    SCENES.map(({ name }) => name),
    'scene',
  )
}
