// Driver: does a thing to each of a list, so many at a time.

export async function inSteps<Item, Result>(
  items: readonly Item[],
  size: number,
  act: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  for (let at = 0; at < items.length; at += size)
    results.push(...(await Promise.all(items.slice(at, at + size).map(act))))
  return results
}
