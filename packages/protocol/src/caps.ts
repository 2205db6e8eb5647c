// Rule: all limits (caps), and what happens beyond each of them.

const KiB = 1024
const MiB = 1024 * KiB

export const CAPS = {
  /** Bytes of a key. A longer one is refused with ERR_TOO_LARGE. */
  keyBytes: 4 * KiB,
  /** Bytes of a value. A longer one is refused with ERR_TOO_LARGE. */
  valueBytes: 1 * MiB,
  /** Bytes of the context of a hold. A longer one is refused with ERR_TOO_LARGE. */
  contextBytes: 4 * KiB,
  /** Bytes of the digest of a txn that is applied once. A longer one is refused with ERR_PROTOCOL. */
  digestBytes: 64,
  /** Bytes of one command. The member that receives a longer one answers ERR_TOO_LARGE. */
  commandBytes: 4 * MiB,
  /**
   * Rows in the budget of one command (command-budget.ts): the keys, conditions and steps that it names, and
   * the rows that its deleteRange steps delete. A larger command is refused with ERR_TOO_LARGE when it is
   * received or when it is applied, and changes nothing.
   */
  commandRows: 20_000,
  /** How many holds and waiters one lockQuery lists. */
  queryLines: 100_000,
  /**
   * How many holds one command renews or releases, all in one turn of the event loop. Clients send further
   * commands for more holds.
   */
  commandHolds: 2_048,
  /** How many deleteRange steps a batch or txn may have. A deleteRange of its own has no limit. */
  commandRanges: 128,
  /** Bytes of the keys and values that one command may read. */
  commandReadBytes: 16 * MiB,
  /** Bytes of the events of one command: keys, new values and previous values. */
  commandWriteBytes: 16 * MiB,
  /** Bytes of one entry of the log. A batch of commands is closed before it becomes larger. */
  entryBytes: 8 * MiB,
  /**
   * Bytes of a frame between processes. A longer message is sent in several frames, so that a heartbeat waits
   * for at most one frame.
   */
  frameBytes: 256 * KiB,
  /** Bytes of one message of a WebSocket. A longer one closes the connection. */
  maxPayload: 16 * MiB,
  /**
   * Values in a frame of a client, or in one command. All elements of lists count. More are refused
   * with ERR_PROTOCOL.
   */
  values: 2 ** 18,
  /**
   * Values in an answer: enough for some hundred thousand locks. A client leaves a member that sends more.
   */
  answerValues: 2 ** 22,
  /**
   * Connections of one port. If there are more, the oldest connection without credentials is closed for a
   * newer one, and clients are refused. Some places are kept for members.
   */
  connections: 10_000,
  /** Unanswered requests of one HTTP connection. More of them close the connection. */
  unansweredRequests: 16,
  /**
   * Bytes of incomplete messages and bodies that a member has received from clients. If there are more, some
   * of these messages are ended. Each must also grow by `unfinishedBytesASecond`, measured over 5 s.
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
  /** Keys of one acquireAll. */
  keysOfSet: 64,
  /** Bytes of the name of a flow. */
  flowBytes: 256,
  /** How many of the holds around a request are named in it. The innermost ones are named. */
  holdsOfFlow: 16,
  /** Latches of a store. A further one is refused with ERR_BUSY. */
  latches: 100_000,
  /**
   * Barriers of a store. For a further one, the barrier that was used longest ago and at which no caller
   * waits is forgotten. If callers wait at all of them, the answer is ERR_BUSY.
   */
  barriers: 10_000,
  /**
   * Parties of one latch or barrier. A further one is refused with ERR_BUSY. A barrier for more parties
   * is a TypeError.
   */
  partiesOfOne: 10_000,
  /**
   * Parties of all latches and barriers, with those whose wait has ended but whose client has not confirmed
   * that. A further one is refused with ERR_BUSY.
   */
  parties: 20_000,
  /**
   * The largest id of a session, and the largest number of a call, that a record of the log and the key of a
   * row can store. A larger one is refused with ERR_PROTOCOL.
   */
  recordNumber: 2 ** 48 - 1,
  /**
   * The largest term, index, time or round in messages between members. It equals the limit of ids, because
   * the index of an entry becomes the id of a session. A larger number closes the connection.
   */
  memberNumber: 2 ** 48 - 1,
  /**
   * Sessions of a store, and sessions that one identity has opened. For a further one, an idle session
   * without holds is ended, or the new one fails with ERR_BUSY.
   */
  sessions: 10_000,
  sessionsOfOne: 5_000,
  /**
   * Sessions of HTTP connections at one member, those of one identity, and holds of one session. A further one
   * is refused with ERR_BUSY.
   */
  callerSessions: 1_000,
  callerSessionsOfOne: 500,
  callerSessionHolds: 128,
  /** In ms of cluster time. After this time without a message a session counts as idle. */
  sessionIdleMillis: 15_000,
  /** In ms, how long a session may live without a message. More is a TypeError. */
  maxSessionLife: 24 * 60 * 60 * 1000,
  /** Characters of the stored name of the identity that opened a session. A longer name is cut. */
  identityLength: 128,
  /**
   * Unfinished call numbers of a session. If there are more, the client waits, and then fails with ERR_BUSY.
   */
  sessionNumbers: 1_024,
  /**
   * Bytes of the stored answers of a session. If there are more, the client waits, and then fails
   * with ERR_BUSY.
   */
  sessionAnswerBytes: 4 * MiB,
  /**
   * The number and the bytes of the events that are kept for watches. Older events are deleted when
   * entries are applied.
   */
  events: 100_000,
  eventBytes: 64 * MiB,
  /**
   * Keys of a multiGet, and bytes that a multiGet or a query of locks returns, all in one turn of the event
   * loop. More is refused with ERR_TOO_LARGE.
   */
  readKeys: 4_096,
  readBytes: 16 * MiB - 256 * KiB,
  /** Tokens of a member, prefixes of one token, and bytes of the file of tokens. More is a TypeError. */
  tokens: 1_000,
  prefixes: 64,
  tokensFile: 1 * MiB,
  /** In ms, the shortest and the longest lease. Any other lease is a TypeError. */
  minLease: 50,
  maxLease: 30 * 24 * 60 * 60 * 1000,
  /**
   * In ms, the longest ttl of a key: about 4,000 years. A longer one is reduced to this. A row has room for
   * twice as much.
   */
  maxLife: 2 ** 47 - 1,
  /** Rows of a page of a scan or an iteration. */
  pageRows: 1_000,
  pageBytes: 1 * MiB,
} as const
