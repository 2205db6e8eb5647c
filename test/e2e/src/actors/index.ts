// Rule: where the built actors are: small programs that stories run as processes of their own.

import { fileURLToPath } from 'node:url'

export const actor = (name: 'holder' | 'blocked-holder' | 'leading'): string =>
  fileURLToPath(new URL(`../../dist/actors/${name}.js`, import.meta.url))
