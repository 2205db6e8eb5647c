// Types: the facts that `latchkey doctor` collects before it judges them.

import type { Status } from '@latchkey/protocol'

export interface CertificateFacts {
  /** Where the doctor found the certificate: the address of a member, or the path of a file. */
  readonly place: string
  readonly name: string
  /** The certificate is valid from `from` to `to`, in milliseconds since 1970. */
  readonly from: number
  readonly to: number
}

export interface DirFacts {
  readonly path: string
  /** In ms, how long each test write of 4 KiB took, with its sync. Empty if the disk is full. */
  readonly syncMillis: readonly number[]
  readonly freeBytes: number
  readonly totalBytes: number
  /** Why the directory cannot be used. With an error, the other fields have no meaning. */
  readonly error?: string | undefined
}

export interface MachineFacts {
  /** The version of this latchkey command. */
  readonly version: string
  /** How many files a process of this user may open. Undefined if the system does not say. */
  readonly openFiles: number | undefined
  /** Undefined if the user did not use the option --dir. */
  readonly dir: DirFacts | undefined
  /** The date of this machine's clock, in milliseconds since 1970. */
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
 * The uptime in one status answer of a member. `sentAt` is when the doctor sent the request, and `cameAt`
 * when the answer arrived, by this machine's monotonic clock.
 */
export interface Sample {
  readonly sentAt: number
  readonly cameAt: number
  readonly uptimeMillis: number
}

export interface MemberFacts {
  /** The member's id. Undefined if no member's status lists this address. */
  readonly id: string | undefined
  readonly url: string
  readonly lookupError?: string | undefined
  readonly addresses: readonly AddressFacts[]
  readonly certificate?: CertificateFacts | undefined
  /**
   * Why this address returned no status. `code` is the error's code, or undefined if the error is no
   * LatchkeyError.
   */
  readonly error?: { readonly code: string | undefined; readonly message: string } | undefined
  readonly status?: Status | undefined
  readonly samples: readonly Sample[]
}

export interface Facts {
  readonly machine: MachineFacts
  readonly members: readonly MemberFacts[]
  /** The cluster id that the user gave with --cluster-id. */
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
  /**
   * 'skipped' means that the doctor could not make the check. The advice then names the option that is
   * missing.
   */
  readonly level: 'ok' | 'skipped' | 'warning' | 'error'
  /** What the finding is about: this machine, a member, or an address. */
  readonly about: string
  readonly message: string
  /** What the user should do next. */
  readonly advice?: string | undefined
}
