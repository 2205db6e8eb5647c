// Rule: all limits (caps), and what happens beyond each of them.

const KiB = 1024
const MiB = 1024 * KiB

export const CAPS = {
  /** The most bytes of a key. A longer key is refused with ERR_TOO_LARGE. */
  keyBytes: 4 * KiB,
  /** The most bytes of a value. A longer value is refused with ERR_TOO_LARGE. */
  valueBytes: 1 * MiB,
  /** The most bytes of the context of a hold. A longer context is refused with ERR_TOO_LARGE. */
  contextBytes: 4 * KiB,
  /**
   * The most bytes of the digest of a txn that is applied once. A longer digest is refused with ERR_PROTOCOL.
   */
  digestBytes: 64,
  /** The most bytes of one command. The member that receives a longer command answers ERR_TOO_LARGE. */
  commandBytes: 4 * MiB,
  /**
   * The most rows of one command (command-budget.ts): the keys, conditions and steps that the command names,
   * and the rows that its deleteRange steps delete. A larger command is refused with ERR_TOO_LARGE when it is
   * received or when it is applied, and changes nothing.
   */
  commandRows: 20_000,
  /** The most holds and waiters that one lockQuery lists. */
  queryLines: 100_000,
  /**
   * The most holds that one command renews or releases, because a command is applied in one turn of the event
   * loop. Clients send further commands for more holds.
   */
  commandHolds: 2_048,
  /** The most deleteRange steps of a batch or txn. A single deleteRange call has no limit. */
  commandRanges: 128,
  /** The most bytes of the keys and values that one command may read. */
  commandReadBytes: 16 * MiB,
  /** The most bytes of the events of one command: keys, new values and previous values. */
  commandWriteBytes: 16 * MiB,
  /** The most bytes of one entry of the log. A batch of commands is closed before it becomes larger. */
  entryBytes: 8 * MiB,
  /**
   * The most bytes of a frame between processes. A longer message is sent in several frames, so that a
   * heartbeat waits for at most one frame.
   */
  frameBytes: 256 * KiB,
  /** The most bytes of one message of a WebSocket. A longer message closes the connection. */
  maxPayload: 16 * MiB,
  /**
   * The most values in a frame of a client, or in one command. All elements of lists count. A frame with more
   * values is refused with ERR_PROTOCOL.
   */
  values: 2 ** 18,
  /**
   * The most values in an answer: enough for some hundred thousand locks. A client leaves a member that sends
   * an answer with more values.
   */
  answerValues: 2 ** 22,
  /**
   * The most connections of one port. If there are more, the oldest connection without credentials is closed,
   * or a new client is refused. Some connections are reserved for members.
   */
  connections: 10_000,
  /** The most unanswered requests of one HTTP connection. A connection with more is closed. */
  unansweredRequests: 16,
  /**
   * The most bytes of incomplete messages and bodies that a member has received from clients. If there are
   * more, the member ends some of these messages. Each incomplete message must also grow by
   * `unfinishedBytesASecond`, measured over 5 s.
   */
  unfinishedBytes: 64 * MiB,
  unfinishedBytesASecond: 64 * KiB,
  /**
   * The most traced requests that a member follows at once, of one connection and of all connections. A
   * further request is served without a span and a log line.
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
  /** How many of the holds around a request are named in the request. The innermost holds are named. */
  holdsOfFlow: 16,
  /** The most latches of a store. A further latch is refused with ERR_BUSY. */
  latches: 100_000,
  /**
   * The most barriers of a store. Beyond the limit a new barrier replaces the barrier that was used longest
   * ago, of those at which no caller waits. If callers wait at all barriers, the answer is ERR_BUSY.
   */
  barriers: 10_000,
  /**
   * The most parties of one latch or barrier. A further party is refused with ERR_BUSY. A call that names
   * more parties for a barrier gets a TypeError.
   */
  partiesOfOne: 10_000,
  /**
   * The most parties of all latches and barriers together. A party whose wait has ended counts until its
   * client has confirmed the end. A further party is refused with ERR_BUSY.
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
   * The most sessions of a store, and the most sessions that one identity has opened. Beyond the limit an
   * idle session without holds is ended, or the new session fails with ERR_BUSY.
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
  /** In ms of cluster time. A session that sent no message for this long counts as idle. */
  sessionIdleMillis: 15_000,
  /** In ms, the longest life of a session without a message. A longer life is a TypeError. */
  maxSessionLife: 24 * 60 * 60 * 1000,
  /** The most characters of the stored name of the identity that opened a session. A longer name is cut. */
  identityLength: 128,
  /**
   * The most unfinished call numbers of a session. Beyond the limit the client waits, and then fails with
   * ERR_BUSY.
   */
  sessionNumbers: 1_024,
  /**
   * The most bytes of the stored answers of a session. Beyond the limit the client waits, and then fails with
   * ERR_BUSY.
   */
  sessionAnswerBytes: 4 * MiB,
  /**
   * The most events, and the most bytes of events, that are kept for watches. Older events are deleted when
   * entries are applied.
   */
  events: 100_000,
  eventBytes: 64 * MiB,
  /**
   * The most keys of a multiGet, and the most bytes that a multiGet or a query of locks returns. A member
   * makes such an answer in one turn of the event loop. A larger one is refused with ERR_TOO_LARGE.
   */
  readKeys: 4_096,
  readBytes: 16 * MiB - 256 * KiB,
  /**
   * The most tokens of a member, prefixes of one token, and bytes of the file of tokens. A larger file is a
   * TypeError.
   */
  tokens: 1_000,
  prefixes: 64,
  tokensFile: 1 * MiB,
  /** In ms, the shortest and the longest lease. Any other lease is a TypeError. */
  minLease: 50,
  maxLease: 30 * 24 * 60 * 60 * 1000,
  /**
   * In ms, the longest ttl of a key: about 4,000 years. A longer ttl is reduced to this value. A row can
   * store twice this value.
   */
  maxLife: 2 ** 47 - 1,
  /** The most rows of a page of a scan or an iteration. */
  pageRows: 1_000,
  pageBytes: 1 * MiB,
} as const
