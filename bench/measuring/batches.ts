/** Number of operations that start in one turn of the event loop. */
export const batch = 100;

/** Calls `act` for each index, one batch at a time. */
export async function inBatches(
  times: number,
  act: (index: number) => Promise<unknown>,
  size: number = batch,
): Promise<void> {
  for (let from = 0; from < times; from += size) {
    await Promise.all(Array.from({ length: size }, (_, index) => act(from + index)));
  }
}

/** Creates a counter that resolves when a number of events has been handled. */
export function countdown(): { of(count: number): Promise<void>; count(): void } {
  let left = 0;
  let finish = (): void => {};
  return {
    of: (count) =>
      new Promise((resolve) => {
        left = count;
        finish = resolve;
      }),
    count() {
      left -= 1;
      if (left === 0) finish();
    },
  };
}
