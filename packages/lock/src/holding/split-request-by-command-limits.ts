// Rule: splits a request about many holds into as few commands as the limits of a command allow.

import { CAPS } from '@latchkey/protocol'

/** In bytes: the most that one hold needs in a command, besides its key and its id. */
const ITEM_BYTES = 64

export function splitRequests<Item>(
  items: readonly Item[],
  of: (item: Item) => { readonly key: Uint8Array; readonly id: string },
): Item[][] {
  const requests: Item[][] = []
  let room = 0
  for (const item of items) {
    const { key, id } = of(item)
    const size = key.length + id.length + ITEM_BYTES
    if (size > room || requests.at(-1)?.length === CAPS.commandHolds) {
      requests.push([])
      room = CAPS.commandBytes / 2
    }
    requests.at(-1)?.push(item)
    room -= size
  }
  return requests
}
