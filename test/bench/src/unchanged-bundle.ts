// Rule: all members of one run execute the same bundle of the command.
//
// Law: the bench publishes figures only if the bundle was as new as the compiled code when the run began, and is the
// same file when the run ends. Without this: somebody compiles the code during a run. Members that start later then
// execute the modules that tsc wrote, and one table shows the figures of two versions.

import { statSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { LATCHKEY } from '@latchkey/test-chaos/command'

/** What packages/latchkey/bin/bundle.js exports. */
export interface BundleModule {
  readonly BUNDLE: URL
  /** True if the command executes the bundle, and not the modules that tsc wrote. */
  isCurrent(): boolean
}

export const commandBundle = (): Promise<BundleModule> =>
  import(new URL('bundle.js', pathToFileURL(LATCHKEY)).href) as Promise<BundleModule>

/** Returns a function that throws if the bundle has changed since this call. A text says why no run can begin. */
export function watchBundle({ BUNDLE, isCurrent }: BundleModule): (() => void) | string {
  if (!isCurrent())
    return 'The bundle of the command is missing, or older than the compiled code. Run `npm run build`, then start the bench again.'
  const timeOf = () => statSync(BUNDLE).mtimeMs
  const before = timeOf()
  return () => {
    if (!isCurrent() || timeOf() !== before)
      throw new Error(
        'The code was compiled during this run, so the members did not all execute the same code. The bench publishes no figures. Run it again, and compile nothing meanwhile.',
      )
  }
}
