// Rule: the exports that `latchkey start` needs besides the store: its log, its metrics and its web console.
// An embedded store does not load this package, so its program needs neither pino nor prom-client.

export { jsonLogger, type LogLevel } from './json-log-writer.js'
export { FRESH_MS, Metrics } from './prometheus-registry.js'
export { pageFile } from './console-files-in-memory.js'
