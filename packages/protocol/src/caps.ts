// Rule: all caps, and what happens beyond each of them.

const KiB = 1024
const MiB = 1024 * KiB

export const CAPS = {
  /** Bytes of a key: ERR_TOO_LARGE beyond. */
  keyBytes: 4 * KiB,
  /** Bytes of a value: ERR_TOO_LARGE beyond. */
  valueBytes: 1 * MiB,
  /** Bytes of the context of a hold: ERR_TOO_LARGE beyond. */
  contextBytes: 4 * KiB,
  /** Bytes of the digest of a txn that is applied once: ERR_PROTOCOL beyond. */
  digestBytes: 64,
  /** Bytes of one command: the member that receives it answers ERR_TOO_LARGE. */
  commandBytes: 4 * MiB,
  /**
   * The budget of one command (budget.ts): ERR_TOO_LARGE beyond, when it is received or when it is applied,
   * and nothing is changed. Rows are the keys, conditions and steps that it names, and the rows that its
   * deleteRange steps delete.
   */
  commandRows: 20_000,
  /** Holds and waiters that one lockQuery lists. */
  queryLines: 100_000,
  /**
   * Holds that one command renews or releases, all in one turn. Clients send further commands for the others.
   */
  commandHolds: 2_048,
  /** deleteRange steps of a batch or txn. A deleteRange of its own has no limit. */
  commandRanges: 128,
  /** Bytes of the keys and values that one command reads. */
  commandReadBytes: 16 * MiB,
  /** Bytes of the events of one command: keys, new values and previous values. */
  commandWriteBytes: 16 * MiB,
  /** Bytes of one entry of the log: a batch of commands is closed before it becomes larger. */
  entryBytes: 8 * MiB,
  /**
   * Bytes of a frame between processes. Longer messages are sent in several frames, so that a heartbeat waits
   * for at most one frame.
   */
  frameBytes: 256 * KiB,
  /** Bytes of one message of a WebSocket: the connection is closed beyond. */
  maxPayload: 16 * MiB,
  /** Values in a frame of a client, or in one command, with all elements of lists: ERR_PROTOCOL beyond. */
  values: 2 ** 18,
  /**
   * Values in an answer, enough for some hundred thousand locks. A client leaves a member that sends more.
   */
  answerValues: 2 ** 22,
  /**
   * Connections of one port. Beyond, the oldest stranger is closed for a newer one, clients are refused, and
   * places are kept for members.
   */
  connections: 10_000,
  /** Unanswered requests of one HTTP connection: the connection is closed beyond. */
  unansweredRequests: 16,
  /**
   * Bytes that a member has received of incomplete messages and bodies of clients: some of them are ended
   * beyond. Each must also bring this many bytes a second, measured over 5 s.
   */
  unfinishedBytes: 64 * MiB,
  unfinishedBytesASecond: 64 * KiB,
  /**
   * Traced requests that a member follows at once, of one connection and of all: a further one is served
   * without a span and a log line.
   */
  tracedRequestsOfOne: 1_024,
  tracedRequests: 16_384,
  /** Waiters of one lock: ERR_BUSY beyond. */
  waiters: 10_000,
  /** Permits of one semaphore. */
  permits: 1_000_000,
  /** The keys of one acquireAll. */
  keysOfSet: 64,
  /** Of the name of a flow. */
  flowBytes: 256,
  /** So many of the holds around a request are named in it, the innermost ones. */
  holdsOfFlow: 16,
  /** Latches of a store: ERR_BUSY beyond. */
  latches: 100_000,
  /**
   * Barriers of a store: the one that nobody waits at and that was used longest ago gives way, else ERR_BUSY.
   */
  barriers: 10_000,
  /** Parties of one latch or barrier: ERR_BUSY beyond, and a TypeError where a barrier is for more. */
  partiesOfOne: 10_000,
  /**
   * Parties of all latches and barriers, with those that passed and have not said that they know: ERR_BUSY
   * beyond.
   */
  parties: 20_000,
  /**
   * The id of a session, and the number of a call: the greatest that a record of the log and the key of a row
   * can store. ERR_PROTOCOL beyond.
   */
  recordNumber: 2 ** 48 - 1,
  /**
   * A term, an index, a time, or a round in messages between members. It is the same cap, because the index
   * of an entry becomes the id of a session. The connection is closed beyond.
   */
  memberNumber: 2 ** 48 - 1,
  /**
   * Sessions of a store, and sessions that one identity opened. Beyond, an idle session without holds is
   * ended for a new one, or the new one fails with ERR_BUSY.
   */
  sessions: 10_000,
  sessionsOfOne: 5_000,
  /** A session counts as idle after this time without a message, ms of cluster time. */
  sessionIdleMillis: 15_000,
  /** How long a session may live without a message, ms: TypeError beyond. */
  maxSessionLife: 24 * 60 * 60 * 1000,
  /** Characters of the stored name of the identity that opened a session. A longer name is cut. */
  identityLength: 128,
  /** Unfinished call numbers of a session. Beyond, the client waits, and then fails with ERR_BUSY. */
  sessionNumbers: 1_024,
  /** Bytes of the stored answers of a session. Beyond, the client waits, and then fails with ERR_BUSY. */
  sessionAnswerBytes: 4 * MiB,
  /**
   * The number and the bytes of the events that are kept for watches. Older ones are deleted when entries are
   * applied.
   */
  events: 100_000,
  eventBytes: 64 * MiB,
  /**
   * Keys of a multiGet, and bytes that a multiGet or a query of locks returns, all in one turn: ERR_TOO_LARGE
   * beyond.
   */
  readKeys: 4_096,
  readBytes: 16 * MiB - 256 * KiB,
  /** Tokens of a member, prefixes of one token, and bytes of the file of tokens: TypeError beyond. */
  tokens: 1_000,
  prefixes: 64,
  tokensFile: 1 * MiB,
  /** The shortest and the longest lease, ms: TypeError outside. */
  minLease: 50,
  maxLease: 30 * 24 * 60 * 60 * 1000,
  /**
   * The longest ttl of a key, ms: about 4,000 years. A longer one is reduced to this. A row has room for
   * twice as much.
   */
  maxLife: 2 ** 47 - 1,
  /** Rows of a page of a scan or an iteration. */
  pageRows: 1_000,
  pageBytes: 1 * MiB,
} as const
