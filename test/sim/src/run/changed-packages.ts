// Driver: loads a copy of the compiled packages with changes. A change replaces an exported function, method
// or class. The compiler reports a change of an export that no longer exists.

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
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))
const PACKAGES = join(ROOT, 'packages')

export interface Change {
  /** The compiled file, for example raft/dist/core/election.js. */
  readonly file: string
  /** Callers in the same file still use the real export. */
  readonly name: string
  readonly put: (real: unknown) => unknown
}

/**
 * Returns a function that replaces exports of one module, for example of raft/core/election
 * (raft/dist/core/election.js). A method is replaced by a subclass.
 */
export const exportsOf =
  <Module>(at: string) =>
  <Name extends keyof Module & string>(name: Name, put: (real: Module[Name]) => Module[Name]): Change => ({
    file: compiled(at),
    name,
    put: (real) => put(real as Module[Name]),
  })

const compiled = (module: string): string => `${module.replace('/', '/dist/')}.js`

/**
 * Returns an object with these properties and all other properties of the target. Methods of the target run
 * on the target itself, because they may use private fields.
 */
export const like = <Target extends object>(target: Target, values: Partial<Target>): Target =>
  new Proxy(target, {
    get: (_, name) => {
      if (Object.hasOwn(values, name)) return Reflect.get(values, name) as unknown
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })

/** The properties of the target have these values until `run` returns. */
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

interface CopiedPackages {
  readonly packages: readonly string[]
  /** The packages from npm that the copied packages import. The copy has links to these packages. */
  readonly others: readonly string[]
  /** The modules to load, for example raft/core/election. */
  readonly files: readonly string[]
}

export interface LoadedModules<Modules> {
  /** All exports of the loaded modules. Two modules may not export the same name. */
  readonly modules: Modules
  readonly remove: () => void
}

/** Copies compiled packages to a temporary folder, changes the copy, and loads it. */
export async function loadCopy<Modules>(
  { packages, others, files }: CopiedPackages,
  changes: readonly Change[],
): Promise<LoadedModules<Modules>> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-copy-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  const pathOf = (file: string) => join(folder, 'node_modules', '@latchkey', file)
  try {
    for (const name of packages) {
      mkdirSync(pathOf(name), { recursive: true })
      for (const part of ['package.json', 'dist'])
        cpSync(join(PACKAGES, name, part), pathOf(join(name, part)), { recursive: true, filter: isCode })
    }
    for (const name of others)
      symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name), 'dir')
    applyChanges(pathOf(''), changes)
    const load = (file: string): Promise<object> =>
      import(/* @vite-ignore */ pathToFileURL(pathOf(compiled(file))).href)
    const modules = await Promise.all(files.map(load))
    return { modules: Object.assign({}, ...modules) as Modules, remove }
  } catch (error) {
    remove()
    throw error
  }
}

function applyChanges(root: string, changes: readonly Change[]): void {
  for (const file of new Set(changes.map((change) => change.file))) {
    const path = join(root, file)
    const text = withReplacements(
      readFileSync(path, 'utf8'),
      changes.filter((change) => change.file === file),
    )
    renameSync(path, realPath(path))
    writeFileSync(path, text)
  }
}

const isCode = (path: string): boolean => !/\.(map|d\.ts|tsbuildinfo)$/.test(path)

/** A changed module imports the real module from this path. */
const realPath = (path: string): string => path.replace(/\.js$/, '.real.js')

/** The changed modules call these functions when they are loaded. */
const replacements: Change['put'][] = []
Object.defineProperty(globalThis, 'simulatedReplacements', { value: replacements })

/** Returns the text of a module that exports the replacements, and all other exports of the real module. */
function withReplacements(source: string, changes: readonly Change[]): string {
  const exported = new Map<string, string>()
  for (const { file, name, put } of changes) {
    if (!new RegExp(`^export (class|const|function\\*?|async function\\*?) ${name}\\b`, 'm').test(source))
      throw new UnknownExport(`${file} exports no ${name}: write the known bug for the present code`)
    if (!replacements.includes(put)) replacements.push(put)
    const at = replacements.indexOf(put)
    exported.set(name, `globalThis.simulatedReplacements[${at}](${exported.get(name) ?? `real.${name}`})`)
  }
  const path = (changes[0] as Change).file
  const real = realPath(path.slice(path.lastIndexOf('/') + 1))
  return [
    `export * from './${real}'`,
    `import * as real from './${real}'`,
    ...[...exported].map(([name, value]) => `export const ${name} = ${value}`),
  ].join('\n')
}
