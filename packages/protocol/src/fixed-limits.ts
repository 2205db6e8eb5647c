// Rule: the limits of Latchkey, each with what happens beyond the limit.

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
   * The most bytes of the digest of a txn with `once`. By the digest, members recognize a repeated txn. A
   * longer digest is refused with ERR_PROTOCOL.
   */
  digestBytes: 64,
  /** The most bytes of one command. The member that receives a longer command answers ERR_TOO_LARGE. */
  commandBytes: 4 * MiB,
  /**
   * The most rows of one command: the keys, conditions and steps in the command, and the rows that its
   * deleteRange steps delete. A larger command fails with ERR_TOO_LARGE and changes nothing.
   */
  commandRows: 20_000,
  /** The most holds and waiters in the answer to one lockQuery. A larger query fails with ERR_TOO_LARGE. */
  queryLines: 100_000,
  /**
   * The most holds that one command renews or releases. A member applies a command in one turn of the event
   * loop, so a larger command would delay all other requests. A larger command fails with ERR_TOO_LARGE.
   */
  commandHolds: 2_048,
  /** The most deleteRange steps of a batch or txn. A call with more steps fails with ERR_TOO_LARGE. */
  commandRanges: 128,
  /**
   * The most bytes of keys and values that one command reads. Beyond the limit the command fails with
   * ERR_TOO_LARGE.
   */
  commandReadBytes: 16 * MiB,
  /**
   * The most bytes of keys, new values and previous values in the events of one command. Beyond the limit the
   * command fails with ERR_TOO_LARGE.
   */
  commandWriteBytes: 16 * MiB,
  /** The most bytes of one entry of the log. Further commands go into the next entry. */
  entryBytes: 8 * MiB,
  /**
   * In bytes. A sender begins a new frame before a frame of several messages would exceed this size. A member
   * sends a longer message to another member in several frames, so that a heartbeat waits for at most one
   * frame.
   */
  frameBytes: 256 * KiB,
  /** The most bytes of one message of a WebSocket. A longer message closes the connection. */
  maxPayload: 16 * MiB,
  /**
   * The most values in a client's frame or in a command. Each element of a list is a value. A frame with more
   * values is refused with ERR_PROTOCOL.
   */
  values: 2 ** 18,
  /**
   * The most values in an answer: enough for some hundred thousand locks. The client closes the connection to
   * a member that sends more.
   */
  answerValues: 2 ** 22,
  /**
   * The most connections of a member's port. Beyond the limit the member closes the oldest connection without
   * credentials, or refuses the new connection. Some connections are reserved for members.
   */
  connections: 10_000,
  /** The most unanswered requests of one HTTP connection. The member closes a connection with more. */
  unansweredRequests: 16,
  /**
   * The most bytes of incomplete WebSocket messages and HTTP bodies at one member. Beyond the limit the
   * member closes a connection that has more than an equal share of these bytes. The member also closes a
   * connection whose incomplete message grows by less than `unfinishedBytesASecond`, measured over 5 s.
   */
  unfinishedBytes: 64 * MiB,
  unfinishedBytesASecond: 64 * KiB,
  /**
   * The most traced requests in progress, for one connection and for all connections of a member. The member
   * serves further requests without a span.
   */
  tracedRequestsOfOne: 1_024,
  tracedRequests: 16_384,
  /** The most waiters of one lock. A further waiter is refused with ERR_BUSY. */
  waiters: 10_000,
  /** The most permits of one semaphore. */
  permits: 1_000_000,
  /** The most keys of one acquireAll. */
  keysOfSet: 64,
  /** The most bytes of the name of a flow. All nested lock requests of one caller are a flow. */
  flowBytes: 256,
  /**
   * A lock request names at most this many holds of its flow, the innermost first. Members find deadlocks by
   * these holds.
   */
  holdsOfFlow: 16,
  /** The most latches of a store. A further latch is refused with ERR_BUSY. */
  latches: 100_000,
  /**
   * The most barriers of a store. Beyond the limit a new barrier replaces the least recently used barrier at
   * which no caller waits. If callers wait at all barriers, the answer is ERR_BUSY.
   */
  barriers: 10_000,
  /**
   * The most parties of one latch or barrier. A party is a call that waits there. A further party is refused
   * with ERR_BUSY.
   */
  partiesOfOne: 10_000,
  /**
   * The most parties of all latches and barriers together. A party counts until its client has confirmed the
   * end of the wait. A further party is refused with ERR_BUSY.
   */
  parties: 20_000,
  /**
   * The largest id of a session, and the largest number of a call. Log records and keys of rows have 48 bits
   * for such a number. A larger number is refused with ERR_PROTOCOL.
   */
  recordNumber: 2 ** 48 - 1,
  /**
   * The largest term, index or other count in messages between members. The index of an entry can become the
   * id of a session, so this limit equals the limit of session ids. A member closes a connection that sends a
   * larger number.
   */
  memberNumber: 2 ** 48 - 1,
  /**
   * The most sessions of a store, and the most sessions of one identity. Beyond the limit the store ends an
   * idle session without holds, or refuses the new session with ERR_BUSY.
   */
  sessions: 10_000,
  sessionsOfOne: 5_000,
  /**
   * An HTTP caller can open a session that ends with its connection. One member has at most this many such
   * sessions, and this many of one identity. Each session has at most this many holds. Beyond a limit the
   * member answers ERR_BUSY.
   */
  callerSessions: 1_000,
  callerSessionsOfOne: 500,
  callerSessionHolds: 128,
  /**
   * In ms of cluster time. A session whose client is silent for longer is idle, and may be ended to make room
   * for a new session.
   */
  sessionIdleMillis: 15_000,
  /**
   * In ms. A program may ask the cluster to keep a session without messages for at most this time. A longer
   * time is a TypeError.
   */
  maxSessionLife: 24 * 60 * 60 * 1000,
  /** The most characters of a stored identity. The name of a session's opener is cut to this length. */
  identityLength: 128,
  /**
   * The most stored answers of a session. At the limit the client waits before the next call, and the call
   * may fail with ERR_BUSY.
   */
  sessionNumbers: 1_024,
  /** The most bytes of the stored answers of a session. The limit has the same effect as `sessionNumbers`. */
  sessionAnswerBytes: 4 * MiB,
  /**
   * The most events, and the most bytes of events, that a member keeps for watches. Beyond a limit the oldest
   * events are dropped. A watch that needs a dropped event fails with ERR_COMPACTED.
   */
  events: 100_000,
  eventBytes: 64 * MiB,
  /**
   * The most keys of a multiGet, and the most bytes of the answer to a multiGet or a query of locks. A member
   * makes such an answer in one turn of the event loop. A larger read is refused with ERR_TOO_LARGE.
   */
  readKeys: 4_096,
  readBytes: 16 * MiB - 256 * KiB,
  /**
   * The most access tokens of a member, the most key prefixes of one token, and the most bytes of the file of
   * tokens. Beyond a limit, the member throws a TypeError.
   */
  tokens: 1_000,
  prefixes: 64,
  tokensFile: 1 * MiB,
  /** In ms, the shortest and the longest lease. Any other lease is a TypeError. */
  minLease: 50,
  maxLease: 30 * 24 * 60 * 60 * 1000,
  /** In ms, the longest ttl of a key: about 4,000 years. A longer ttl is reduced to this value. */
  maxLife: 2 ** 47 - 1,
  /**
   * A page of a scan or an iteration ends at this many rows or bytes. The next page has the following rows.
   */
  pageRows: 1_000,
  pageBytes: 1 * MiB,
} as const
