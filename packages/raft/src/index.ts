// Rule: the package's public face: each part is also an entry point of its own.

export * from './core/index.js'
export * from './net/index.js'
export * from './node/index.js'
export * from './wal/index.js'
