// Test: which error a caller gets if the package of an address is missing, or is itself broken.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const INDEX = new URL('../../dist/index.js', import.meta.url).href

/** Asks for locks at a Redis server in a process in which the package fails with this code when it is loaded. */
async function refusal(code: string): Promise<string[]> {
  const hooks = `export async function resolve(name, context, next) {
    if (name === '@latchkey/redis') throw Object.assign(new Error('it failed'), { code: '${code}' })
    return next(name, context)
  }`
  const script = `
    import { register } from 'node:module'
    register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(hooks)}))
    const { locks } = await import(${JSON.stringify(INDEX)})
    const error = await locks('redis://127.0.0.1:1').catch((thrown) => thrown)
    console.log(JSON.stringify([error.name, error.message, error.cause?.message ?? 'no cause']))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script])
  return JSON.parse(stdout) as string[]
}

test('a package that is not installed is named, with the command that installs it', async () => {
  expect(await refusal('ERR_MODULE_NOT_FOUND')).toEqual([
    'TypeError',
    expect.stringMatching(
      /^this address needs a package that is not installed: npm install @latchkey\/redis/,
    ),
    'it failed',
  ])
})

test('a package that is installed and fails gives its own error', async () => {
  expect(await refusal('ERR_OTHER')).toEqual(['Error', 'it failed', 'no cause'])
})
