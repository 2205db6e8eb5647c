// Rule: judges the members of a cluster by the facts that `latchkey doctor` has collected.
//
// Law: the doctor reports a clock as wrong only if no delay of messages can explain the difference (OP1).
// Without this law: the doctor's process pauses for a second between two requests. A correct clock then seems
// to run too fast, and the operator stops a healthy member.

import type { Status } from '@latchkey/protocol'
import type { Finding, MemberFacts, Facts, Sample } from './collected-facts.js'
import { certificateFinding, spaceFinding } from './machine-and-certificate-findings.js'

/**
 * The greatest allowed difference between the rates of two clocks, as a fraction. By default, the option
 * `drift` allows each clock an error of 0.005, which is 0.5 %.
 */
const RATE_TOLERANCE = 2 * 0.005
/**
 * In ms. A larger difference between the dates of two clocks is a warning. Wrong dates matter for
 * certificates and for readers of logs.
 */
const DATE_TOLERANCE_MS = 30_000
const MUCH_LAG = 10_000

export function clusterFindings({ machine, members, clusterId }: Facts): Finding[] {
  const answered = members.flatMap(({ status }) => status ?? [])
  return [
    ...members.flatMap((member) => memberFindings(member, machine.dateMillis)),
    ...clusterIdFindings(members, clusterId),
    ...versionFindings(answered, machine.version),
    ...leaderFindings(answered),
    ...rateFindings(members),
    ...dateFindings(answered, machine.dateMillis),
  ]
}

const nameOf = ({ id, url, status }: MemberFacts): string => {
  const known = id ?? status?.id
  return known === undefined ? url : `member ${known} (${url})`
}

function memberFindings(member: MemberFacts, now: number): Finding[] {
  const { lookupError, certificate, status, error } = member
  const about = nameOf(member)
  if (lookupError !== undefined)
    return [
      {
        check: 'dns',
        level: 'error',
        about,
        message: `its name is not found: ${lookupError}`,
        advice:
          "look at the name's entry in the DNS (a headless service, in Kubernetes) and at the resolver of this machine; if the member has another address, run 'latchkey members update ID URL'",
      },
    ]
  const ofPorts = portFindings(member, about)
  const ofCertificate = certificate === undefined ? [] : [certificateFinding(certificate, now)]
  const before = [...ofPorts, ...ofCertificate]
  if (status !== undefined) return [...before, ...answerFindings(member, status, about)]
  // A fault of the port or the certificate explains why the status is missing. So no other reason is
  // reported.
  if (error === undefined || before.some(({ level }) => level === 'error')) return before
  return [...before, refusalFinding(error, about)]
}

function portFindings({ addresses }: MemberFacts, about: string): Finding[] {
  const silent = addresses.filter(({ error }) => error !== undefined)
  if (silent.length === 0) return []
  const message = silent.map(({ address, error }) => `no server answers at ${address}: ${error}`).join('; ')
  return [
    {
      check: 'port',
      level: silent.length === addresses.length ? 'error' : 'warning',
      about,
      message,
      advice:
        'start the member if it is down; if it runs, check its --listen address and the firewall between this machine and the member; if the address is outdated, check the DNS',
    },
  ]
}

function refusalFinding(
  { code, message }: { code: string | undefined; message: string },
  about: string,
): Finding {
  const base = { level: 'error', about, message } as const
  switch (code) {
    case 'ERR_WRONG_CLUSTER':
      return {
        ...base,
        check: 'cluster',
        advice: 'give its name with --cluster; if the name is right, this address belongs to another cluster',
      }
    case 'ERR_PROTOCOL':
      return {
        ...base,
        check: 'version',
        advice:
          'update the older one of the two; update the members before the clients, one member after the other',
      }
    case 'ERR_UNAUTHORIZED':
    case 'ERR_FORBIDDEN':
      return {
        ...base,
        check: 'member',
        advice:
          'give a token with the right read (LATCHKEY_TOKEN), or --cert and --cert-key if clients need a certificate',
      }
    default: {
      const isSilent = code === 'ERR_TIMEOUT' || message.includes('timed out')
      return { ...base, check: 'member', advice: isSilent ? SILENT_ADVICE : 'look at the log of that member' }
    }
  }
}

const SILENT_ADVICE =
  'its port accepts connections, but nothing answers: its process stands still (stopped, swapping, in a debugger), or another program has the port. Look at that process, and restart it'

function answerFindings({ id }: MemberFacts, status: Status, about: string): Finding[] {
  if (id !== undefined && status.id !== id)
    return [
      {
        check: 'dns',
        level: 'error',
        about,
        message: `member ${status.id} answers at the address of member ${id}`,
        advice:
          "the name leads to another machine, or a port to another member: correct the DNS entry or the forwarding, or set the right address with 'latchkey members update ID URL'",
      },
    ]
  const { disk } = status
  return [
    { check: 'member', level: 'ok', about, message: `answers as ${status.role}, latchkey ${status.version}` },
    ...(disk === undefined
      ? []
      : [spaceFinding(about, disk.freeBytes, disk.totalBytes, disk.stateBytes + disk.logBytes)]),
  ]
}

function clusterIdFindings(members: readonly MemberFacts[], wanted: string | undefined): Finding[] {
  const answered = members.flatMap((member) => {
    const { status } = member
    return status === undefined || status.clusterId === '' ? [] : [{ member, id: status.clusterId }]
  })
  const ids = [...new Set(answered.map(({ id }) => id))]
  const [first] = ids
  if (first === undefined) return []
  if (ids.length > 1)
    return [
      {
        check: 'cluster',
        level: 'error',
        about: 'the cluster',
        message: `${ids.length} different clusters answer: ${answered.map(({ member, id }) => `${nameOf(member)} is of ${id}`).join(', ')}`,
        advice:
          'the members with the wrong cluster id have a wrong directory or a wrong address: docs/operations.md, "One cluster, or none"',
      },
    ]
  if (wanted !== undefined && wanted !== first)
    return [
      {
        check: 'cluster',
        level: 'error',
        about: 'the cluster',
        message: `its id is ${first}, and not ${wanted}`,
        advice: 'give the addresses of the right cluster, or correct --cluster-id',
      },
    ]
  return [{ check: 'cluster', level: 'ok', about: 'the cluster', message: `its id is ${first}` }]
}

function versionFindings(answered: readonly Status[], own: string): Finding[] {
  const versions = [...new Set([...answered.map(({ version }) => version), own])]
  if (answered.length === 0) return []
  if (versions.length === 1)
    return [{ check: 'version', level: 'ok', about: 'the cluster', message: `all run latchkey ${own}` }]
  const list = answered.map(({ id, version }) => `${id} runs ${version}`).join(', ')
  return [
    {
      check: 'version',
      level: 'warning',
      about: 'the cluster',
      message: `different versions: ${list}; this command is ${own}`,
      advice: 'finish the upgrade: restart the older members with the new version, one after the other',
    },
  ]
}

function leaderFindings(answered: readonly Status[]): Finding[] {
  const about = 'the cluster'
  if (answered.length === 0)
    return [
      {
        check: 'leader',
        level: 'skipped',
        about,
        message: 'no member has answered, so it is not known whether one leads',
        advice:
          'repair the faults of the members that are listed here, and run the command again: the cluster itself may have no fault',
      },
    ]
  const newest = [...answered].sort((a, b) => b.term - a.term)
  const led = newest.find(({ leader }) => leader !== undefined)
  if (led === undefined) {
    const why = newest.find(({ whyNoLeader }) => whyNoLeader !== undefined)?.whyNoLeader
    return [
      {
        check: 'leader',
        level: 'error',
        about,
        message: why ?? 'nobody leads',
        advice:
          'start the members that are missing: a majority is needed. If their disks are lost for good: docs/operations.md, "Runbooks"',
      },
    ]
  }
  const leader = answered.find(({ id }) => id === led.leader)
  const ok: Finding = {
    check: 'leader',
    level: 'ok',
    about,
    message: `${led.leader} leads in term ${led.term}`,
  }
  return [ok, ...(leader === undefined ? [] : leaderViewFindings(leader))]
}

function leaderViewFindings({ id, members }: Status): Finding[] {
  return members.flatMap((member): Finding[] => {
    if (member.id === id) return []
    const about = `member ${member.id}`
    if (member.alive === false)
      return [
        {
          check: 'member',
          level: member.role === 'voter' ? 'error' : 'warning',
          about,
          message: `the leader ${id} does not reach it`,
          advice:
            "start it; if it answers this command, check the network and the certificates between the leader and it; if its disk is lost: 'latchkey members replace'",
        },
      ]
    if ((member.lag ?? 0) > MUCH_LAG)
      return [
        {
          check: 'lag',
          level: 'warning',
          about,
          message: `it lacks ${member.lag} entries of the log`,
          advice: 'it is catching up, or its disk or network is too slow: look again in a minute',
        },
      ]
    return []
  })
}

interface Rate {
  readonly member: MemberFacts
  /**
   * The rate of the member's clock, divided by the rate of this machine's clock, is between `least` and
   * `most`.
   */
  readonly least: number
  readonly most: number
}

/** The member read its clock at an unknown moment between request and answer, so the rate is a range. */
export function rateOf([first, second]: readonly Sample[]): Pick<Rate, 'least' | 'most'> | undefined {
  if (first === undefined || second === undefined) return undefined
  const shown = second.uptimeMillis - first.uptimeMillis
  const shortest = second.sentAt - first.cameAt
  // If the uptime did not grow, the member has restarted between the two answers.
  if (shown <= 0 || shortest <= 0) return undefined
  return { least: shown / (second.cameAt - first.sentAt), most: shown / shortest }
}

function rateFindings(members: readonly MemberFacts[]): Finding[] {
  const rates = members.flatMap((member): Rate[] => {
    const rate = rateOf(member.samples)
    return rate === undefined ? [] : [{ member, ...rate }]
  })
  if (rates.length === 0) return []
  const wrong = rates.filter(({ least, most }) => least > 1 + RATE_TOLERANCE || most < 1 - RATE_TOLERANCE)
  if (wrong.length === 0)
    return [
      {
        check: 'clock',
        level: 'ok',
        about: 'the cluster',
        message: `no clock runs at a wrong rate (clocks compared with this machine's: ${rates.length})`,
      },
    ]
  const text = wrong.map(({ member, least, most }) => `${nameOf(member)}: ${percent(least, most)}`).join(', ')
  // If the clocks of all members seem wrong, this machine's clock is wrong.
  if (wrong.length > 1 && wrong.length === rates.length)
    return [
      {
        check: 'clock',
        level: 'error',
        about: 'this machine',
        message: `its clock runs at another rate than those of all members (${text})`,
        advice: RATE_ADVICE,
      },
    ]
  return wrong.map(({ member, least, most }) => ({
    check: 'clock',
    level: 'error',
    about: nameOf(member),
    message: `its clock runs at a wrong rate: ${percent(least, most)} of this machine's`,
    advice: RATE_ADVICE,
  }))
}

const RATE_ADVICE =
  "locks need clocks that run at the right rate (option drift, 0.005): take the member out of service ('latchkey transfer', then stop it), look at its hypervisor and its time service, and start it again when the rate is right"

const percent = (least: number, most: number): string =>
  `${(least * 100).toFixed(1)} to ${(most * 100).toFixed(1)} %`

function dateFindings(answered: readonly Status[], now: number): Finding[] {
  return answered
    .filter(({ dateMillis }) => Math.abs(dateMillis - now) > DATE_TOLERANCE_MS)
    .map(({ id, dateMillis }) => ({
      check: 'clock',
      level: 'warning',
      about: `member ${id}`,
      message: `its date differs from this machine's by ${Math.round((dateMillis - now) / 1000)} s`,
      advice:
        'locks do not use dates, but certificates and logs do: look at the time service (NTP) of both machines',
    }))
}
