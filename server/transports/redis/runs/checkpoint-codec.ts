// The rest of a value is a step's output, which may be large and which observers do not read.
const outputKey = ',"output":';
const withoutOutput = 'null}';

/** Divides a checkpoint into what observers read, and the output of its step; `''` if it has none. */
export function splitCheckpoint(value: string): readonly [shown: string, output: string] {
  const end = value.indexOf(outputKey);
  if (end === -1) return [value, ''];
  const from = end + outputKey.length;
  return [value.slice(0, from) + withoutOutput, value.slice(from)];
}

/**
 * Returns checkpoints in the order of their creation.
 *
 * @param stored per key its order, the delivery that stored it, and what observers read
 * @param outputs read apart; a checkpoint whose output is left out has the output `null`
 */
export function readCheckpoints(
  stored: ReadonlyMap<string, string>,
  outputs: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  const numbered = [...stored].map(([key, entry]) => {
    const [order = '', delivery = ''] = entry.split(' ', 2);
    const shown = entry.slice(order.length + delivery.length + 2);
    const output = outputs.get(key);
    const value = output === undefined ? shown : shown.slice(0, -withoutOutput.length) + output;
    return { key, order: Number(order), value };
  });
  return new Map(numbered.sort((a, b) => a.order - b.order).map(({ key, value }) => [key, value]));
}
