// Driver: the files of the house, read once, as the checks see them.

import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative, sep } from 'node:path'

const SKIPPED = new Set(['node_modules', 'dist', 'coverage', '.git'])

/** One reading of a tree. Paths are relative to `root`, with slashes. */
export class Files {
  #texts = new Map()

  constructor(root) {
    this.root = root
    this.paths = walk(root, root).toSorted()
    this.set = new Set(this.paths)
  }

  text(path) {
    let text = this.#texts.get(path)
    if (text === undefined) this.#texts.set(path, (text = readFileSync(join(this.root, path), 'utf8')))
    return text
  }

  json(path) {
    return JSON.parse(this.text(path))
  }

  has(path) {
    return this.set.has(path)
  }

  /** A file or a folder. */
  exists(path) {
    const clean = path.replace(/\/+$/, '')
    return this.set.has(clean) || this.paths.some((file) => file.startsWith(`${clean}/`))
  }

  matching(pattern) {
    return this.paths.filter((path) => pattern.test(path))
  }

  /** What the packages and the test programs are made of. */
  sources() {
    return this.matching(/^(packages|test)\/[^/]+\/src\/.*\.ts$/)
  }

  /** The folder and the parsed package.json of each workspace. */
  workspaces() {
    const found = this.matching(/^(packages|test)\/[^/]+\/package\.json$/)
    return found.map((path) => ({
      folder: path.slice(0, -'/package.json'.length),
      manifest: this.json(path),
    }))
  }
}

function walk(root, folder) {
  const found = []
  for (const name of readdirSync(folder)) {
    if (SKIPPED.has(name)) continue
    const path = join(folder, name)
    if (statSync(path).isDirectory()) found.push(...walk(root, path))
    else found.push(relative(root, path).split(sep).join('/'))
  }
  return found
}

export const isTest = (path) => /\.test\.(ts|mjs)$/.test(path)

/** Tests, and what only tests are built from: fixtures, folders named testing or traces. */
export const isForTests = (path) => isTest(path) || /\/(testing|traces)\/|-fixture\.ts$/.test(path)

/** The sources that users run. Test suites that a package exports are tests, too. */
export const isProduct = (path) =>
  /^packages\/[^/]+\/src\/.*\.ts$/.test(path) && !isForTests(path) && !/\/suite\/|-suite\.ts$/.test(path)
