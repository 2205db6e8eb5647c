// Driver: changes copies of the compiled packages, so that they have a known bug. A bug replaces an export where
// it is a whole function or a whole method: then the compiler notices when that is renamed. Otherwise it
// changes a line of the compiled text.

import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const PACKAGES = fileURLToPath(new URL('../../../../packages/', import.meta.url))

export interface Patch {
  /** Below the packages folder, compiled: raft/dist/core/election.js */
  readonly file: string
  /** Stands there exactly once, whatever the white space. */
  readonly find: string
  readonly replace: string
}

export interface Replacement {
  /** As of a patch. */
  readonly file: string
  /** Of an export. What calls it in its own file still calls the real one. */
  readonly name: string
  readonly put: (real: unknown) => unknown
}

export type Change = Patch | Replacement

/** `at`: the compiled file without its folder `dist` and its ending. */
export const fileAt = (at: string): string => `${at.replace('/', '/dist/')}.js`

/** What is exported under that name, replaced by what `put` makes of it. A method is replaced by a subclass. */
export function replaced<Module, Name extends keyof Module & string>(
  at: string,
  name: Name,
  put: (real: Module[Name]) => Module[Name],
): Replacement {
  return { file: fileAt(at), name, put: (real) => put(real as Module[Name]) }
}

/** Replaces exports of one module. */
export const exportsOf =
  <Module>(at: string) =>
  <Name extends keyof Module & string>(name: Name, put: (real: Module[Name]) => Module[Name]): Replacement =>
    replaced<Module, Name>(at, name, put)

/** Runs it while these properties of that object have these values. */
export function during<Target extends object, Result>(
  target: Target,
  values: { readonly [Name in keyof Target]?: Target[Name] },
  run: () => Result,
): Result {
  const names = Object.keys(values) as (keyof Target)[]
  const before = names.map((name) => Object.getOwnPropertyDescriptor(target, name))
  for (const name of names)
    Object.defineProperty(target, name, {
      value: values[name],
      writable: true,
      configurable: true,
      enumerable: true,
    })
  try {
    return run()
  } finally {
    names.forEach((name, i) => {
      const old = before[i]
      if (old === undefined) Reflect.deleteProperty(target, name)
      else Object.defineProperty(target, name, old)
    })
  }
}

export class PatchMisfit extends Error {
  override readonly name = 'PatchMisfit'
}

/** Throws where a change does not fit the compiled packages. */
export function checkChange(change: Change): void {
  changed(PACKAGES, change)
}

/**
 * `root` has the packages by their names. Lines are changed before exports are replaced: a module with a
 * replacement has its lines in another file.
 */
export function applyChanges(root: string, changes: readonly Change[]): void {
  const replacements = changes.filter((change) => 'name' in change)
  for (const change of changes)
    if ('find' in change) writeFileSync(join(root, change.file), changed(root, change))
  for (const file of new Set(replacements.map((change) => change.file))) {
    const path = join(root, file)
    const text = withReplacements(
      readFileSync(path, 'utf8'),
      replacements.filter((change) => change.file === file),
    )
    renameSync(path, besides(path))
    writeFileSync(path, text)
  }
}

/** Maps, declarations and the like are not copied. */
export const isCode = (path: string): boolean => !/\.(map|d\.ts|tsbuildinfo)$/.test(path)

function changed(root: string, change: Change): string {
  const source = readFileSync(join(root, change.file), 'utf8')
  return 'name' in change ? withReplacements(source, [change]) : patched(source, change)
}

function patched(source: string, { file, find, replace }: Patch): string {
  const places = [...source.matchAll(loosely(find))].length
  if (places !== 1)
    throw new PatchMisfit(`does not fit any more: ${file} has ${places} times "${find}"; write it anew`)
  return source.replace(loosely(find), () => replace)
}

/** Whatever the white space: a compiler may break lines otherwise tomorrow. */
function loosely(text: string): RegExp {
  const words = text.trim().split(/\s+/)
  return new RegExp(words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('\\s+'), 'g')
}

const besides = (path: string): string => path.replace(/\.js$/, '.real.js')

/** Read by the changed modules when they are loaded. */
const puts: Replacement['put'][] = []
Object.defineProperty(globalThis, 'simulatedReplacements', { value: puts })

/** The text of a module that exports what the real one does, apart from the names that are replaced. */
function withReplacements(source: string, replacements: readonly Replacement[]): string {
  const exported = new Map<string, string>()
  for (const { file, name, put } of replacements) {
    if (!new RegExp(`^export (class|const|function\\*?|async function) ${name}\\b`, 'm').test(source))
      throw new PatchMisfit(`does not fit any more: ${file} exports no ${name}`)
    const at = puts.indexOf(put) < 0 ? puts.push(put) - 1 : puts.indexOf(put)
    exported.set(name, `globalThis.simulatedReplacements[${at}](${exported.get(name) ?? `real.${name}`})`)
  }
  const path = (replacements[0] as Replacement).file
  const real = besides(path.slice(path.lastIndexOf('/') + 1))
  return [
    `export * from './${real}'`,
    `import * as real from './${real}'`,
    ...[...exported].map(([name, value]) => `export const ${name} = ${value}`),
  ].join('\n')
}
