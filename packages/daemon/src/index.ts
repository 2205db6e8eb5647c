// Rule: the exports that `latchkey start` needs in addition to the store: its log, its metrics and its web
// page. An embedded store loads nothing of this package, so an application that embeds one installs neither
// pino nor prom-client.

export { jsonLogger, type LogLevel } from './log.js'
export { FRESH_MS, Metrics } from './metrics.js'
export { pageFile } from './page-files.js'
