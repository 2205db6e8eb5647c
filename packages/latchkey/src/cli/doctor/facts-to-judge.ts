// Types: what `latchkey doctor` has found out, before it is judged.

import type { Status } from '@latchkey/protocol'

export interface CertificateFacts {
  /** Where the certificate was seen: an address, or a file. */
  readonly place: string
  readonly name: string
  /** Milliseconds since 1970. */
  readonly from: number
  readonly to: number
}

export interface DirFacts {
  readonly path: string
  /** In ms, how long each write of 4 KiB with its sync took. Empty if the disk is full. */
  readonly syncMillis: readonly number[]
  readonly freeBytes: number
  readonly totalBytes: number
  /** Why the directory cannot be used. The other fields have no meaning then. */
  readonly error?: string | undefined
}

export interface MachineFacts {
  /** The version of this command. */
  readonly version: string
  /** How many files a process that is started here may open. Undefined if the system does not tell. */
  readonly openFiles: number | undefined
  /** Undefined if no --dir was given. */
  readonly dir: DirFacts | undefined
  /** Milliseconds since 1970. */
  readonly dateMillis: number
  /** The certificates in the files of --ca and --cert. */
  readonly certificates: readonly CertificateFacts[]
}

export interface AddressFacts {
  readonly address: string
  /** Why no process answers there. */
  readonly error?: string | undefined
}

/** One answer of a member, with this machine's monotonic clock before and after. */
export interface Sample {
  readonly sentAt: number
  readonly cameAt: number
  readonly uptimeMillis: number
}

export interface MemberFacts {
  /**
   * The member's name in the list of members. Undefined for an address that was given and is
   * not in that list.
   */
  readonly id: string | undefined
  readonly url: string
  readonly lookupError?: string | undefined
  readonly addresses: readonly AddressFacts[]
  readonly certificate?: CertificateFacts | undefined
  /** Why no status came from there. `code` is the code of a LatchkeyError. */
  readonly error?: { readonly code: string | undefined; readonly message: string } | undefined
  readonly status?: Status | undefined
  readonly samples: readonly Sample[]
}

export interface Facts {
  readonly machine: MachineFacts
  readonly members: readonly MemberFacts[]
  /** The id that the user has given with --cluster-id. */
  readonly clusterId: string | undefined
}

export type Check =
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
  /** 'skipped': it could not be examined, and the advice says what to give. */
  readonly level: 'ok' | 'skipped' | 'warning' | 'error'
  /** What the finding is about: this machine, a member, or an address. */
  readonly about: string
  readonly message: string
  /** What to do next. */
  readonly advice?: string | undefined
}
