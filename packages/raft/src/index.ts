// Rule: the exports of the package. Each folder is also an entry point of its own.

export * from './core/index.js'
export * from './net/index.js'
export * from './node/index.js'
export * from './wal/index.js'
