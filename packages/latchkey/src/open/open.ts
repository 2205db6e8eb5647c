// Door: open(): an embedded store. Bad options are refused before anything is touched.

import type { Store } from '@latchkey/client'
import { LatchkeyError } from '@latchkey/protocol'
import { OpenedMember } from './open-member.js'
import { checkOptions, type OpenOptions } from './options.js'
import { listen } from './server.js'

/** One member in this process, or a cluster of one. Rejects with a TypeError, or with a LatchkeyError that says what to do. */
export async function open(options: OpenOptions): Promise<Store> {
  const settings = checkOptions(options)
  if (settings.signal?.aborted)
    throw new LatchkeyError('ERR_ABORTED', undefined, { cause: settings.signal.reason })
  const member = await OpenedMember.open(settings)
  if (settings.listen === undefined) return member.store
  try {
    member.serveAt(await listen(settings.listen, settings.tls, (...args) => member.upgrade(...args)))
    return member.store
  } catch (error) {
    await member.store.close()
    throw error
  }
}

/** For who offers the port: the member without one. */
export async function openMember(options: OpenOptions): Promise<OpenedMember> {
  return OpenedMember.open(checkOptions(options))
}
