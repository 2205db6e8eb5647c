// Driver: puts a known bug into a copy of the compiled packages. A bug replaces exported functions, methods and
// classes. If one of them gets another name, the compiler refuses the bug.

import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))
const PACKAGES = join(ROOT, 'packages')

/** Replaces one export of one module. */
export interface Change {
  /** The compiled file, below the folder of all packages: raft/dist/core/election.js */
  readonly file: string
  /** The name of the export. Callers in the same file still use the real export. */
  readonly name: string
  /** Makes the replacement from the real export. */
  readonly put: (real: unknown) => unknown
}

/**
 * Returns a function that replaces exports of one module. The module is named by its compiled file without the
 * folder `dist` and without the ending, as in raft/core/election. A method is replaced by a subclass.
 */
export const exportsOf =
  <Module>(at: string) =>
  <Name extends keyof Module & string>(name: Name, put: (real: Module[Name]) => Module[Name]): Change => ({
    file: `${at.replace('/', '/dist/')}.js`,
    name,
    put: (real) => put(real as Module[Name]),
  })

/**
 * Returns an object that has these properties, and all other properties of the target. Methods of the target run
 * on the target itself, because a method may use private fields.
 */
export const like = <Target extends object>(target: Target, values: Partial<Target>): Target =>
  new Proxy(target, {
    get: (_, name) => {
      if (Object.hasOwn(values, name)) return Reflect.get(values, name) as unknown
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })

/** Calls `run`. The properties of the target have these values until `run` returns. */
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

export class UnknownExport extends Error {
  override readonly name = 'UnknownExport'
}

/** Throws if the compiled packages do not have the export that the change replaces. */
export function checkChange(change: Change): void {
  withReplacements(readFileSync(join(PACKAGES, change.file), 'utf8'), [change])
}

export interface ChangedCopy {
  /** Loads a compiled file, which is named as in a change. */
  readonly load: (file: string) => Promise<Record<string, unknown>>
  /** Removes the files of the copy. */
  readonly remove: () => void
}

/**
 * Copies these compiled packages to a temporary folder and applies the changes to the copy. `others` are the
 * packages of other authors that they import.
 */
export function changedCopy(
  packages: readonly string[],
  others: readonly string[],
  changes: readonly Change[],
): ChangedCopy {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-copy-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  const place = (path: string) => join(folder, 'node_modules', '@latchkey', path)
  try {
    for (const name of packages) {
      for (const part of ['package.json', 'dist']) {
        mkdirSync(dirname(place(join(name, part))), { recursive: true })
        cpSync(join(PACKAGES, name, part), place(join(name, part)), { recursive: true, filter: isCode })
      }
    }
    for (const name of others)
      symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name), 'dir')
    applyChanges(place(''), changes)
  } catch (error) {
    remove()
    throw error
  }
  const load = (file: string) =>
    import(/* @vite-ignore */ pathToFileURL(place(file)).href) as Promise<Record<string, unknown>>
  return { load, remove }
}

function applyChanges(root: string, changes: readonly Change[]): void {
  for (const file of new Set(changes.map((change) => change.file))) {
    const path = join(root, file)
    const text = withReplacements(
      readFileSync(path, 'utf8'),
      changes.filter((change) => change.file === file),
    )
    renameSync(path, besides(path))
    writeFileSync(path, text)
  }
}

/** The copy has no source maps and no declarations. */
const isCode = (path: string): boolean => !/\.(map|d\.ts|tsbuildinfo)$/.test(path)

const besides = (path: string): string => path.replace(/\.js$/, '.real.js')

/** The changed modules read these functions when they are loaded. */
const puts: Change['put'][] = []
Object.defineProperty(globalThis, 'simulatedReplacements', { value: puts })

/** Returns the text of a module that exports the replacements, and everything else that the real module exports. */
function withReplacements(source: string, changes: readonly Change[]): string {
  const exported = new Map<string, string>()
  for (const { file, name, put } of changes) {
    if (!new RegExp(`^export (class|const|function\\*?|async function\\*?) ${name}\\b`, 'm').test(source))
      throw new UnknownExport(`${file} exports no ${name}: write the known bug for the present code`)
    const at = puts.indexOf(put) < 0 ? puts.push(put) - 1 : puts.indexOf(put)
    exported.set(name, `globalThis.simulatedReplacements[${at}](${exported.get(name) ?? `real.${name}`})`)
  }
  const path = (changes[0] as Change).file
  const real = besides(path.slice(path.lastIndexOf('/') + 1))
  return [
    `export * from './${real}'`,
    `import * as real from './${real}'`,
    ...[...exported].map(([name, value]) => `export const ${name} = ${value}`),
  ].join('\n')
}
