// Rule: the exports of `latchkey/testing`.
export { testCluster } from './test-cluster.js'
export type { TestCluster, TestConnectOptions, TestStores } from './test-cluster-types.js'
export type { MemberIds, MemberOptions, TestClusterOptions } from './options.js'
