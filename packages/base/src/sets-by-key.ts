// Rule: Maps whose values are Sets. A key whose Set is empty is not in the Map.

export function addByKey<Key, Item>(map: Map<Key, Set<Item>>, key: Key, item: Item): void {
  const set = map.get(key)
  if (set === undefined) map.set(key, new Set([item]))
  else set.add(item)
}

export function deleteByKey<Key, Item>(map: Map<Key, Set<Item>>, key: Key, item: Item): void {
  const set = map.get(key)
  if (set?.delete(item) && set.size === 0) map.delete(key)
}
