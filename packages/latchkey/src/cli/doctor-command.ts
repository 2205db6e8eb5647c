// Driver: `latchkey doctor`, which examines this machine and each member of a cluster. For each fault, the
// command prints what the user should do next.

import { silentLogger } from '@latchkey/base'
import { ConfigError } from '../sidecar/index.js'
import { type Command, duration, flag, type Line, text, words } from './command-description-and-parser.js'
import { EXIT } from './exit-codes.js'
import { Interrupted, type Io } from './command-io-interface.js'
import { jsonLine, paint, printable } from './print-values.js'
import { connectOptions, endpoints, JSON_OPTION, STORE_OPTIONS } from './store-connection-of-command.js'
import { clusterFindings } from './doctor/cluster-findings.js'
import { examineMembers } from './doctor/examine-members.js'
import type { CertificateFacts, Facts, Finding } from './doctor/collected-facts.js'
import { machineFindings } from './doctor/machine-and-certificate-findings.js'
import { certificatesIn, type Probes, realProbes } from './doctor/probes.js'

/** In ms, between the two status requests by which the doctor measures a member's clock. */
const WATCH_MS = 3_000

export const doctorCommand = (
  version: string,
  probesOf: (io: Io) => Probes = ({ clock }) => realProbes(clock),
): Command => ({
  name: 'doctor',
  usage: '',
  summary: 'Look for faults of this machine and of a cluster, and say for each fault what to do.',
  notes: `The command asks every member of the cluster at its own address. It checks name, port, certificate, cluster id, version,
clock, disk space and missing entries. On this machine, it checks the limit of open files. With --dir, it also checks the
disk: it writes one file of 64 KiB there and deletes it. The command changes nothing else.
exit codes: 0 no fault, but maybe warnings; 1 a fault; 69 no member answered.`,
  options: {
    dir: {
      type: 'string',
      value: 'PATH',
      help: 'measure the disk of this directory, for example the directory of a member',
    },
    watch: { type: 'string', value: 'DURATION', help: 'how long to compare clocks, 3s by default' },
    ...JSON_OPTION,
    ...STORE_OPTIONS,
  },
  examples: [
    'latchkey doctor --dir /var/lib/latchkey/a',
    'latchkey doctor --endpoint wss://10.0.0.2:7001 --ca ca.pem --json',
  ],
  async run(line, io) {
    words(line, 0, 0)
    const facts = await factsOf(line, io, version, probesOf(io))
    if (io.interrupted.reason instanceof Interrupted) throw io.interrupted.reason
    const findings = [...machineFindings(facts.machine), ...clusterFindings(facts)]
    const isHealthy = !findings.some(({ level }) => level === 'error')
    io.out(
      flag(line, 'json') ? jsonLine({ healthy: isHealthy, findings }) : findingsText(findings, io.colours),
    )
    if (!facts.members.some(({ status }) => status !== undefined)) return EXIT.unavailable
    return isHealthy ? EXIT.ok : EXIT.failure
  },
})

async function factsOf(line: Line, io: Io, version: string, probes: Probes): Promise<Facts> {
  const options = connectOptions(line, io)
  const dir = text(line, 'dir')
  const { clusterId } = options
  const watchMillis = duration(line, 'watch') ?? WATCH_MS
  const certificates = localCertificates(options.tls)
  const dirFacts = dir === undefined ? undefined : await probes.disk(dir)
  const silent = { ...options, logger: silentLogger }
  const members = await examineMembers(endpoints(line, io), { io, probes, options: silent, watchMillis })
  const machine = { version, openFiles: probes.openFiles(), dir: dirFacts, certificates }
  return { machine: { ...machine, dateMillis: io.clock.instant().wall }, members, clusterId }
}

const localCertificates = (
  tls: { ca?: string | undefined; cert?: string | undefined } | undefined,
): CertificateFacts[] =>
  (['ca', 'cert'] as const).flatMap((name) => {
    const pem = tls?.[name]
    if (pem === undefined) return []
    try {
      return certificatesIn(pem, `--${name}`)
    } catch (error) {
      throw new ConfigError(`--${name}: the file holds a certificate that cannot be read`, { cause: error })
    }
  })

const COLOURS = { ok: 'green', skipped: 'bold', warning: 'yellow', error: 'red' } as const

/** Errors come last, because a terminal shows the last lines of a long output. */
function findingsText(findings: readonly Finding[], colours: boolean): string {
  const order = ['ok', 'skipped', 'warning', 'error'] as const
  const lines = order.flatMap((level) =>
    findings
      .filter((finding) => finding.level === level)
      .map(({ check, about, message, advice }) => {
        const head = `${paint(colours, COLOURS[level], level.padEnd(7))}  ${check}: ${printable(about)}: ${printable(message)}`
        return advice === undefined ? `${head}\n` : `${head}\n         what to do: ${advice}\n`
      }),
  )
  const count = (level: Finding['level']) => findings.filter((finding) => finding.level === level).length
  return `${lines.join('')}\n${count('error')} faults, ${count('warning')} warnings\n`
}
