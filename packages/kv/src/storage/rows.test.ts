// Test: each implementation of RowStore passes the same test suite.

import { join } from 'node:path'
import { afterAll, describe } from 'vitest'
import { Folders } from '../testing/temporary-folders.js'
import { rowConformance } from '../testing/row-store-conformance-tests.js'
import { classicLevelStorage } from './classic-level-storage.js'
import { SimulatedRowStorage } from './simulated-row-store.js'
import { memoryLevelStorage } from './memory-level-storage.js'

const folders = new Folders()
afterAll(() => folders.removeAll())

describe('classic-level', () =>
  rowConformance(async () => classicLevelStorage(join(folders.make(), 'state'))))
describe('memory-level', () => rowConformance(async () => memoryLevelStorage()))
describe('the simulated disk', () => rowConformance(async () => new SimulatedRowStorage()))
