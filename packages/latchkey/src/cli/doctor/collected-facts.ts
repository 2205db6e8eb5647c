// Types: the facts that `latchkey doctor` collects before it judges them.

import type { Status } from '@latchkey/protocol'

export interface CertificateFacts {
  /** The address of a member, or the path of a file. */
  readonly place: string
  readonly name: string
  /** In milliseconds since 1970, like `to`. The certificate is valid between these dates. */
  readonly from: number
  readonly to: number
}

export interface DirFacts {
  readonly path: string
  /** In ms, for each test write of 4 KiB with its sync. Empty if the disk is full. */
  readonly syncMillis: readonly number[]
  readonly freeBytes: number
  readonly totalBytes: number
  /** Why the directory cannot be used. The other fields then have no meaning. */
  readonly error?: string | undefined
}

export interface MachineFacts {
  /** The version of this latchkey command. */
  readonly version: string
  /** Undefined if the system does not say. */
  readonly openFiles: number | undefined
  readonly dir: DirFacts | undefined
  /** In milliseconds since 1970. */
  readonly dateMillis: number
  /** The certificates in the files of the options --ca and --cert. */
  readonly certificates: readonly CertificateFacts[]
}

export interface AddressFacts {
  readonly address: string
  /** Why no server answers at this address. */
  readonly error?: string | undefined
}

/**
 * By this machine's monotonic clock, the request for the uptime was sent at `sentAt`, and the answer arrived
 * at `cameAt`.
 */
export interface Sample {
  readonly sentAt: number
  readonly cameAt: number
  readonly uptimeMillis: number
}

export interface MemberFacts {
  /** Undefined if no member's status lists this address. */
  readonly id: string | undefined
  readonly url: string
  readonly lookupError?: string | undefined
  readonly addresses: readonly AddressFacts[]
  readonly certificate?: CertificateFacts | undefined
  /** Why this address returned no status. `code` is undefined if the error is no LatchkeyError. */
  readonly error?: { readonly code: string | undefined; readonly message: string } | undefined
  readonly status?: Status | undefined
  readonly samples: readonly Sample[]
}

export interface Facts {
  readonly machine: MachineFacts
  readonly members: readonly MemberFacts[]
  /** The cluster id of the option --cluster-id. */
  readonly clusterId: string | undefined
}

type Check =
  | 'disk'
  | 'space'
  | 'files'
  | 'dns'
  | 'port'
  | 'certificate'
  | 'member'
  | 'cluster'
  | 'version'
  | 'leader'
  | 'lag'
  | 'clock'

export interface Finding {
  readonly check: Check
  /** 'skipped' means that an option for the check is missing. The advice names the option. */
  readonly level: 'ok' | 'skipped' | 'warning' | 'error'
  /** This machine, a member, or an address. */
  readonly about: string
  readonly message: string
  /** What the user should do next. */
  readonly advice?: string | undefined
}
