// Driver: writes docs/api.md from the types that users meet and the comments on them (built first).

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { declarationsOf, readable } from './api/declarations.mjs'

export const PLACE = 'docs/api.md'

const HEAD = `# API

This page lists the types of the public API. The page is for developers who write programs with Latchkey.

The packages \`latchkey\`, \`latchkey/testing\`, \`@latchkey/client\` and \`@latchkey/level\` export these types.
[guarantees.md](guarantees.md) describes the promises of the calls, and [errors.md](errors.md) describes the errors. A call refuses an
unknown option, field or event with a TypeError, before it sends anything. The error suggests the right name, for example:
\`unknown option "gaurd" of put: did you mean "guard"?\`

The script \`node scripts/api-doc.mjs\` writes this page from the types and their comments. Edit the types.
`

const client = (name) => `packages/client/dist/${name}.d.ts`
const objects = (name) => `packages/lock/dist/holding/${name}.d.ts`
const server = (name) => `packages/latchkey/dist/${name}.d.ts`
const encodings = 'packages/protocol/dist/key-and-value-encodings.d.ts'
const contract = (name) => `packages/protocol/dist/${name}-types.d.ts`
const keyValue = 'packages/protocol/dist/key-value-calls-and-options.d.ts'
const locks = contract('lock-and-latch')

/** What stands under which title, in which order: files, and the names in them. */
export const SECTIONS = [
  [
    'Open',
    [server('open/open'), 'open'],
    [server('open/options'), 'OpenOptions'],
    [server('open/tls-options'), 'TlsOptions'],
    [server('open/embedded-store'), 'EmbeddedStore'],
    [server('open/check-reloaded-certificates-and-tokens'), 'ReloadOptions'],
    [server('member/identity-and-rights'), 'AuthOptions', 'TokenEntry', 'Right'],
    ['packages/base/dist/logger.d.ts', 'Logger'],
  ],
  [
    'Connect',
    [client('connect'), 'connect'],
    [client('connect-options'), 'ConnectOptions', 'ClientTls'],
    [client('remote-store'), 'RemoteStore'],
    [client('connect-options'), 'ClientReload'],
  ],
  ['Restore', [server('open/directory-from-backup'), 'restore', 'RestoreOptions']],
  [
    'The store',
    [
      client('store/store-interface'),
      'Store',
      'SubStore',
      'SubCalls',
      'SubOptions',
      'LockCalls',
      'LockPrimitives',
      'LatchAndBarrierCalls',
      'MirrorCalls',
      'EventCalls',
    ],
    [contract('status-and-admin'), 'ClusterCalls', 'MemberCalls', 'Status', 'MemberStatus', 'StoreEvents'],
  ],
  [
    'Keys and values',
    [keyValue, 'KeyValueCalls'],
    [encodings, 'As', 'Parsed', 'OnUndecodable', 'Bytes', 'KeyAs', 'ValueAs', 'ValueIn'],
    [keyValue, 'Consistency', 'CallOptions', 'ValueOptions', 'ReadOptions', 'WriteOptions'],
    [keyValue, 'ReadWriteOptions', 'Guard', 'KeyValue', 'EntryOfKey', 'Revised', 'Range', 'WriteOp'],
    [keyValue, 'TxnOp', 'Condition', 'Txn', 'WatchTarget', 'WatchEvent', 'EntryAtRevision'],
    ['packages/protocol/dist/list-and-watch-result-types.d.ts', 'AtRevision', 'RangeIterator'],
    [keyValue, 'InitialWatchOptions'],
    [
      'packages/protocol/dist/list-and-watch-result-types.d.ts',
      'InitialWatchEvent',
      'InitialPut',
      'Synced',
      'Reset',
    ],
    [client('store/mirror'), 'Mirror', 'MirrorOptions', 'MirrorTarget', 'MirrorEvents'],
    ['packages/protocol/dist/duration.d.ts', 'Duration'],
  ],
  [
    'Locks in the style of Node',
    [objects('locks'), 'Locks', 'AcquireOptions', 'LockOfSet', 'SetOptions'],
    [objects('lock-watch-types'), 'LockWatchEvent', 'LockWatchOptions'],
    [objects('hold'), 'Hold'],
    [objects('lock-set-hold'), 'HoldSet'],
    [locks, 'LockInfo'],
  ],
  [
    'Locks in the style of RheaKV',
    [objects('distributed-lock'), 'DistributedLock'],
    [objects('distributed-lock-interface'), 'LockAttempt', 'LockObject'],
    [objects('lock-apis-of-store'), 'LockOptions'],
    [objects('renewing-watchdog'), 'Watchdog', 'WatchdogEvents'],
    [locks, 'Owner', 'OwnerCode', 'Acquirer', 'FIRST_TIME_SUCCESS', 'NEW_ACQUIRE_SUCCESS'],
    [locks, 'KEEP_LEASE_SUCCESS', 'REENTRANT_SUCCESS', 'KEEP_LEASE_FAIL'],
  ],
  [
    'Latches and barriers',
    [client('store/latches'), 'Latches'],
    [client('store/barriers'), 'Barriers', 'EnterOptions', 'Passage'],
  ],
  ['Fencing of outside resources', [objects('fence-guard'), 'FenceGuard', 'FencePort']],
  [
    'Errors',
    ['packages/protocol/dist/errors.d.ts', 'LatchkeyError', 'isLatchkeyError', 'Outcome', 'ErrorCode'],
  ],
  [
    'Tests with latchkey/testing',
    [server('test-cluster/test-cluster'), 'testCluster'],
    [server('test-cluster/options'), 'TestClusterOptions', 'MemberOptions', 'MemberIds'],
    [server('test-cluster/test-cluster-types'), 'TestCluster', 'TestStores', 'TestConnectOptions'],
  ],
  [
    'LatchkeyLevel, a database of abstract-level',
    ['packages/level/dist/latchkey-level.d.ts', 'LatchkeyLevel', 'LatchkeyLevelOptions'],
  ],
]

/** Undefined before the first build. */
export function render(root) {
  const parts = [HEAD]
  for (const [title, ...sources] of SECTIONS) {
    const texts = sources.map((source) => textOf(root, source))
    if (texts.includes(undefined)) return undefined
    parts.push(`## ${title}\n\n\`\`\`ts\n${texts.flat().join('\n')}\`\`\`\n`)
  }
  return parts.join('\n')
}

function textOf(root, [file, ...names]) {
  const path = `${root}/${file}`
  if (!existsSync(path)) return undefined
  const known = declarationsOf(readFileSync(path, 'utf8'))
  return names.map((name) => {
    const text = known.get(name)
    if (text === undefined) throw new Error(`${file} has no '${name}' any more: correct scripts/api-doc.mjs`)
    return readable(text)
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const page = render(root)
  if (page === undefined) throw new Error("not everything is built yet: run 'npx tsc -b' first")
  writeFileSync(new URL(`../${PLACE}`, import.meta.url), page)
  console.log(`wrote ${PLACE}, ${page.split('\n').length} lines`)
}
