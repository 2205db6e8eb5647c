// Rule: Maps whose values are Sets. A key is in the Map as long as its Set has an item.

export function addByKey<Key, Item>(map: Map<Key, Set<Item>>, key: Key, item: Item): void {
  const set = map.get(key)
  if (set === undefined) map.set(key, new Set([item]))
  else set.add(item)
}

export function deleteByKey<Key, Item>(map: Map<Key, Set<Item>>, key: Key, item: Item): void {
  const set = map.get(key)
  if (set?.delete(item) && set.size === 0) map.delete(key)
}
