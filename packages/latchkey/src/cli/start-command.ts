// Driver: `latchkey start`, which runs a member with its HTTP port as a process of its own.

import { isLatchkeyError } from '@latchkey/protocol'
import type * as run from '../sidecar/exports-to-run-member.js'
import {
  ConfigError,
  configJson,
  configText,
  resolveSettings,
  rowOf,
  SETTING_NAMES,
  type SettingRow,
  type SidecarOptions,
  sidecarOptions,
} from '../sidecar/index.js'
import { type Command, flag, type Line, type Option, text, words } from './command-description-and-parser.js'
import { EXIT, explain, signalExit } from './exit-codes.js'
import { Interrupted, type Io } from './command-io-interface.js'
import { jsonLine } from './print-values.js'
import { JSON_OPTION } from './store-connection-of-command.js'

export type SidecarParts = typeof run

/** `load` imports the member with LevelDB's native code, which --help and --print-config do not need. */
export const startCommand = (load: () => Promise<SidecarParts>): Command => ({
  name: 'start',
  usage: '--id NAME --dir PATH [--member ID=URL ...]',
  summary: 'Run a member as a process, with one port for members, clients and HTTP, until SIGTERM or SIGINT.',
  notes:
    'Each option can also come from an environment variable (for --tls-cert: LATCHKEY_TLS_CERT; separate several values by\ncommas) or from the configuration file. An option overrides a variable, and a variable overrides the file.',
  options: {
    config: {
      type: 'string',
      value: 'FILE',
      help: 'read settings from this JSON file; default: LATCHKEY_CONFIG',
    },
    'print-config': { type: 'boolean', help: 'print all settings with their sources, and exit' },
    ...Object.fromEntries(SETTING_NAMES.map((name) => [rowOf(name).flag, optionOf(rowOf(name))])),
    ...JSON_OPTION,
  },
  examples: [
    'latchkey start --id a --dir ./a',
    'latchkey start --id a --dir ./a --member a=ws://127.0.0.1:7001 --member b=ws://127.0.0.1:7002 --member c=ws://127.0.0.1:7003',
    'LATCHKEY_ID=a latchkey start --config latchkey.json --print-config',
  ],
  async run(line, io) {
    words(line, 0, 0)
    const settings = resolveSettings({ flags: line.options, env: io.env, file: readConfig(line, io) })
    if (flag(line, 'print-config')) {
      io.out(flag(line, 'json') ? jsonLine(configJson(settings)) : configText(settings))
    }
    const read = () => sidecarOptions(settings, (path) => io.readFile(path))
    const { files } = read()
    return flag(line, 'print-config') ? EXIT.ok : serve(files, read, io, await load())
  },
})

function optionOf({ kind, value, help, fallback }: SettingRow): Option {
  const shown =
    fallback === undefined || fallback === false
      ? help
      : `${help} (${JSON.stringify(fallback).replaceAll('"', '')}${kind === 'millis' ? ' ms' : ''})`
  if (kind === 'yes-no') return { type: 'boolean', help: shown }
  const several = kind === 'list' || kind === 'members' || kind === 'tokens'
  return { type: 'string', ...(several ? { multiple: true } : {}), ...(value ? { value } : {}), help: shown }
}

function readConfig(line: Line, io: Io): { path: string; text: string } | undefined {
  const path = text(line, 'config') ?? io.env.LATCHKEY_CONFIG
  if (path === undefined || path === '') return undefined
  try {
    return { path, text: io.readFile(path) }
  } catch (error) {
    throw new ConfigError(`${path} cannot be read: ${explain(error)}`, { cause: error })
  }
}

/**
 * `files` are the paths of the certificate and token files in the settings. `read` returns the settings with
 * the present contents of these files.
 */
async function serve(
  files: readonly string[],
  read: () => SidecarOptions,
  io: Io,
  parts: SidecarParts,
): Promise<number> {
  const { Sidecar, jsonLogger, openMember, Reloader } = parts
  const seen = await Reloader.look(files)
  const options = read()
  let { secrets } = options
  const logger = jsonLogger(
    options.logLevel,
    () => secrets,
    (line) => io.out(line),
  )
  for (const warning of options.warnings) logger.warn(warning)
  let isHungUp = false
  // From now on, SIGHUP does not end the process. A SIGHUP during the opening of the member causes a reload
  // after the opening.
  let hangUp = () => void (isHungUp = true)
  io.onHangUp(() => hangUp())
  const reloads = (): Readonly<Record<string, number>> => reloader.counts
  const sidecar = await Sidecar.open(options, { clock: io.clock, logger, openMember, reloads })
  const reload = () => {
    const again = read()
    sidecar.reload(again)
    // Removed tokens stay in `secrets`. Clients may still send them, and the log must not show them.
    secrets = [...new Set([...secrets, ...again.secrets])]
  }
  const reloader = new Reloader({ clock: io.clock, logger, files, seen, reload })
  hangUp = () => void reloader.run('SIGHUP')
  if (isHungUp) hangUp()
  const signals = stopSignals(io)
  const ending = await Promise.race([signals.first, sidecar.failed])
  reloader.close()
  hangUp = () => {}
  if (ending instanceof Error) {
    logger.error('the member has stopped by itself', { error: ending })
    io.err(`latchkey: ${explain(ending)}\n`)
    await sidecar.abandon()
    return EXIT.failure
  }
  // A second signal ends the process before the graceful stop is complete.
  const outcome = await Promise.race([
    sidecar.stop().then(() => EXIT.ok, failed(io)),
    signals.second.then(signalExit),
  ])
  signals.off()
  return outcome
}

const failed = (io: Io) => (error: unknown) => {
  io.err(`latchkey: ${explain(error)}\n`)
  return isLatchkeyError(error, 'ERR_CLOSED') ? EXIT.ok : EXIT.failure
}

function stopSignals(io: Io) {
  const asked: ((signal: NodeJS.Signals) => void)[] = []
  const next = () => new Promise<NodeJS.Signals>((resolve) => asked.push(resolve))
  const [first, second] = [next(), next()]
  const tell = (signal: NodeJS.Signals) => asked.shift()?.(signal)
  const off = io.takeSignals(tell, ['SIGTERM', 'SIGINT'])
  // A signal may have arrived while the member was opening. This signal is handled now.
  if (io.interrupted.reason instanceof Interrupted) tell(io.interrupted.reason.signal)
  return { first, second, off }
}
