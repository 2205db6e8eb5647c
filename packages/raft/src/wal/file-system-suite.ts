// Rule: test cases that every implementation of the file-system port must pass. The cases need no test
// framework.

import { assert } from '@latchkey/base'
import { wait } from './open-log.js'
import { type File, type FileSystem, joinPath } from './file-system-interface.js'

interface FileSystemCase {
  readonly name: string
  /** `dir` is a path at which no folder exists. The parent folder may be missing too. */
  run(fs: FileSystem, dir: string): Promise<void>
}

const bytes = (text: string): Uint8Array => Buffer.from(text)

function equal(found: unknown, wanted: unknown, what: string): void {
  const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)]
  assert(a === b, `${what}: ${a} instead of ${b}`)
}

const open = (fs: FileSystem, path: string, how: 'create' | 'existing'): Promise<File> =>
  new Promise((done, fail) =>
    fs.open(path, how, (error, file) => (file === undefined ? fail(error) : done(file))),
  )

async function textOf(fs: FileSystem, path: string): Promise<string | undefined> {
  const found = await fs.read(path)
  return found && Buffer.from(found).toString()
}

async function fails(call: Promise<unknown>): Promise<string> {
  const outcome = await call.then(
    () => 'no error',
    (error) => (error as NodeJS.ErrnoException).code ?? String(error),
  )
  return outcome
}

async function makeFile(fs: FileSystem, dir: string, name: string, text: string): Promise<string> {
  const path = joinPath(dir, name)
  const file = await open(fs, path, 'create')
  await wait((done) => file.commit(0, [bytes(text)], done))
  await wait((done) => file.close(done))
  await wait((done) => fs.syncDir(dir, done))
  return path
}

export const FILE_SYSTEM_CASES: readonly FileSystemCase[] = [
  {
    name: 'a folder is made with those above it, and made again without harm',
    async run(fs, dir) {
      await fs.makeDir(dir)
      await fs.makeDir(dir)
      equal(await fs.list(dir), [], 'a new folder')
    },
  },
  {
    name: 'a file is created once, found only when it is there, and read as written',
    async run(fs, dir) {
      await fs.makeDir(dir)
      const path = joinPath(dir, 'one')
      equal(await fs.read(path), undefined, 'a file that is not there')
      equal(await fails(open(fs, path, 'existing')), 'ENOENT', 'opening it')
      await makeFile(fs, dir, 'one', 'hello')
      equal(await fails(open(fs, path, 'create')), 'EEXIST', 'creating it again')
      equal(await textOf(fs, path), 'hello', 'what was written')
    },
  },
  {
    name: 'writes land at their offsets, over what was there, and a gap is zeros',
    async run(fs, dir) {
      await fs.makeDir(dir)
      const path = await makeFile(fs, dir, 'one', 'hello')
      const file = await open(fs, path, 'existing')
      await wait((done) => file.write(8, bytes('world'), done))
      await wait((done) => file.write(1, bytes('E'), done))
      await wait((done) => file.sync(done))
      equal(await textOf(fs, path), 'hEllo\0\0\0world', 'the sum')
      await wait((done) => file.commit(5, [bytes(' - ')], done))
      equal(await textOf(fs, path), 'hEllo - world', 'the sum after a commit')
      const parts = ['m', 'a', '', 'ny'].map(bytes)
      await wait((done) => file.commit(8, parts, done))
      equal(await textOf(fs, path), 'hEllo - manyd', 'the sum after a commit of many parts')
      await wait((done) => file.close(done))
    },
  },
  {
    name: 'a file is cut, and grows again with zeros',
    async run(fs, dir) {
      await fs.makeDir(dir)
      const path = await makeFile(fs, dir, 'one', 'hello')
      const file = await open(fs, path, 'existing')
      await wait((done) => file.truncate(2, done))
      equal(await textOf(fs, path), 'he', 'cut')
      await wait((done) => file.write(4, bytes('!'), done))
      equal(await textOf(fs, path), 'he\0\0!', 'grown again')
      await wait((done) => file.close(done))
    },
  },
  {
    name: 'names: removed, renamed over another, listed in order',
    async run(fs, dir) {
      await fs.makeDir(dir)
      for (const name of ['b', 'c', 'a']) await makeFile(fs, dir, name, name)
      equal(await fs.list(dir), ['a', 'b', 'c'], 'three')
      await wait((done) => fs.remove(joinPath(dir, 'b'), done))
      await wait((done) => fs.rename(joinPath(dir, 'a'), joinPath(dir, 'c'), done))
      await wait((done) => fs.syncDir(dir, done))
      equal(await fs.list(dir), ['c'], 'one')
      equal(await textOf(fs, joinPath(dir, 'c')), 'a', 'the renamed one')
      equal(await fails(wait((done) => fs.remove(joinPath(dir, 'b'), done))), 'ENOENT', 'removing it again')
    },
  },
  {
    name: 'F1: done is never called before the call has returned',
    async run(fs, dir) {
      await fs.makeDir(dir)
      const path = await makeFile(fs, dir, 'one', 'hello')
      const file = await open(fs, path, 'existing')
      const calls: ((done: (error?: Error) => void) => void)[] = [
        (done) => file.write(0, bytes('a'), done),
        (done) => file.sync(done),
        (done) => file.commit(0, [bytes('b')], done),
        (done) => file.truncate(3, done),
        (done) => file.close(done),
        (done) => fs.syncDir(dir, done),
        (done) => fs.rename(path, joinPath(dir, 'two'), done),
        (done) => fs.remove(joinPath(dir, 'two'), done),
      ]
      for (const call of calls) {
        let returned = false
        await wait((done) => {
          call((error) => {
            assert(returned, 'done came before the call had returned')
            done(error)
          })
          returned = true
        })
      }
    },
  },
  {
    name: "what was read is the reader's own",
    async run(fs, dir) {
      await fs.makeDir(dir)
      const path = await makeFile(fs, dir, 'one', 'hello')
      const mine = (await fs.read(path)) as Uint8Array
      mine.fill(0)
      equal(await textOf(fs, path), 'hello', 'what is on disk')
    },
  },
]
