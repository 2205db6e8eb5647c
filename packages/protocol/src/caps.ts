// Rule: every cap, in one place, with what happens there.

const KiB = 1024
const MiB = 1024 * KiB

export const CAPS = {
  /** A key: ERR_TOO_LARGE beyond. */
  keyBytes: 4 * KiB,
  /** A value: ERR_TOO_LARGE beyond. */
  valueBytes: 1 * MiB,
  /** A lock's context: ERR_TOO_LARGE beyond. */
  contextBytes: 4 * KiB,
  /** One command: ERR_TOO_LARGE at the door. */
  commandBytes: 4 * MiB,
  /**
   * The budget of one command (budget.ts): ERR_TOO_LARGE beyond, at the door or when it is applied, and nothing was changed. Rows are
   * the keys, conditions and steps that it names, and what its deleteRange steps remove.
   */
  commandRows: 20_000,
  /** Holds and waiters that one lockQuery lists. */
  queryLines: 100_000,
  /** Holds that one command renews or releases: all in one turn. Clients ask for more in further commands. */
  commandHolds: 2_048,
  /** deleteRange steps of a batch or txn. One that stands alone has no budget. */
  commandRanges: 128,
  /** Keys and values that it looks at, ... */
  commandReadBytes: 16 * MiB,
  /** ... and those that its events hold: the key, the new value and the one before. */
  commandWriteBytes: 16 * MiB,
  /** One entry of the log: the batch is closed before it grows beyond. */
  entryBytes: 8 * MiB,
  /** A frame between processes is cut at this size, so that a heartbeat waits for one piece at most. */
  frameBytes: 256 * KiB,
  /** What a WebSocket accepts in one message: the connection is closed beyond. */
  maxPayload: 16 * MiB,
  /** Values in a frame of a client, or in one command, each part of a list counted: ERR_PROTOCOL beyond. */
  values: 2 ** 18,
  /** The same in an answer: some hundred thousand locks. The client leaves a member that says more. */
  answerValues: 2 ** 22,
  /** Connections of one port: strangers give way to newer ones, clients are refused, members have a reserve. */
  connections: 10_000,
  /** Requests of one HTTP connection that wait for their answers: the connection is closed beyond. */
  unansweredRequests: 16,
  /**
   * What a member has read of clients' messages and bodies that are not whole: some are ended beyond. Each has to go on, and bring so
   * many bytes a second, over 5 s.
   */
  unfinishedBytes: 64 * MiB,
  unfinishedBytesASecond: 64 * KiB,
  /** Waiters of one lock: ERR_BUSY beyond. */
  waiters: 10_000,
  /** A session's id and a call's number: what a record of the log and a row's key have room for. ERR_PROTOCOL beyond. */
  recordNumber: 2 ** 48 - 1,
  /** A term, an index, a time, a round between members: an index becomes a session's id. The connection is closed beyond. */
  memberNumber: 2 ** 48 - 1,
  /** Sessions of a store, and of those that one identity opened: an idle one that holds nothing gives way, else ERR_BUSY. */
  sessions: 10_000,
  sessionsOfOne: 5_000,
  /** A session may give way that has said nothing for so long, ms of cluster time. */
  sessionIdleMillis: 15_000,
  /** A session's life, ms: TypeError beyond. */
  maxSessionLife: 24 * 60 * 60 * 1000,
  /** Characters of a name that stands in the state: who opened a session. Cut beyond. */
  identityLength: 128,
  /** Unfinished numbers of a session: the client waits, then ERR_BUSY. */
  sessionNumbers: 1_024,
  /** Bytes of kept answers of a session: the client waits, then ERR_BUSY. */
  sessionAnswerBytes: 4 * MiB,
  /** Recent events kept for watchers: trimmed at apply, by both. */
  events: 100_000,
  eventBytes: 64 * MiB,
  /** Keys of a multiGet, and bytes of what it or a query of locks finds, all in one turn: ERR_TOO_LARGE beyond. */
  readKeys: 4_096,
  readBytes: 16 * MiB - 256 * KiB,
  /** Tokens of a member, prefixes of one, and bytes of the file that they stand in: TypeError beyond. */
  tokens: 1_000,
  prefixes: 64,
  tokensFile: 1 * MiB,
  /** A lease, ms: TypeError outside. */
  minLease: 50,
  maxLease: 30 * 24 * 60 * 60 * 1000,
  /** The life of a key, ms, 4,000 years: a longer one is made that. What a row has room for is twice as much. */
  maxLife: 2 ** 47 - 1,
  /** Rows of a page of a scan or an iteration. */
  pageRows: 1_000,
  pageBytes: 1 * MiB,
} as const
