import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void;

/** Size of the objects that outlived collections of young objects. */
function oldBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')?.space_used_size ?? 0;
}

/** Collects all garbage, and returns the growth from here on of the objects that outlived collections of young ones. */
export function measureOldBytes(): () => number {
  collect();
  const before = oldBytes();
  return () => oldBytes() - before;
}

/** Returns the bytes that each call leaves to the next collection of old objects, although it has ended. */
export async function bytesLeft(act: (index: number) => Promise<unknown>, repetitions = 1_000): Promise<number> {
  const left: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    const grown = measureOldBytes();
    for (let index = 0; index < repetitions; index += 1) await act(index);
    await new Promise((resolve) => setImmediate(resolve));
    for (let i = 0; i < 3; i += 1) collect({ type: 'minor' });
    left.push(grown() / repetitions);
  }
  return Math.min(...left);
}
