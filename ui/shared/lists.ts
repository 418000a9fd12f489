/** Returns the sum of a number of each item. */
export function sumOf<Item>(items: readonly Item[], of: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + of(item), 0);
}

/** Returns the items from the one with the largest value on. Each value is computed once. */
export function fromLargest<Item>(items: readonly Item[], numberOf: (item: Item) => number): readonly Item[] {
  const valued = items.map((item) => ({ item, value: numberOf(item) }));
  return valued.sort((a, b) => b.value - a.value).map(({ item }) => item);
}

/** Returns the items by a key, the keys and the items of each in their order. */
export function groupBy<Item, Key>(
  items: readonly Item[],
  keyOf: (item: Item) => Key,
): ReadonlyMap<Key, [Item, ...Item[]]> {
  const groups = new Map<Key, [Item, ...Item[]]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}
