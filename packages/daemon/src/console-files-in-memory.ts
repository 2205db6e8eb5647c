// Driver: reads the files of the web console into memory, once for each process.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'

interface PageFile {
  readonly type: string
  readonly bytes: Uint8Array
  readonly gzip: Uint8Array
}

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
}
/** The compiler writes scripts to dist/page/. All other files of the page are in page/. */
const FOLDERS = ['page/', 'dist/page/']
/**
 * One of these two folders is the folder of the package, because this file is in src/, dist/ or dist/bundle/
 * of the package.
 */
const ROOTS = ['../', '../../'].map((way) => new URL(way, import.meta.url))
let files: ReadonlyMap<string, PageFile> | undefined

/** The name '' means index.html. */
export function pageFile(name: string): PageFile | undefined {
  files ??= readAll()
  return files.get(name === '' ? 'index.html' : name)
}

/**
 * Returns all files of the page by their names. A request gets a file only from this map, so a request cannot
 * read any other file.
 */
function readAll(): ReadonlyMap<string, PageFile> {
  const found = new Map<string, PageFile>()
  const root = ROOTS.find((one) => existsSync(new URL('page/index.html', one)))
  for (const folder of root === undefined ? [] : FOLDERS.map((name) => new URL(name, root))) {
    for (const name of readdirSync(folder)) {
      const type = TYPES[name.slice(name.lastIndexOf('.') + 1)]
      if (type === undefined) continue
      const bytes = readFileSync(new URL(name, folder))
      found.set(name, { type, bytes, gzip: gzipSync(bytes) })
    }
  }
  return found
}
