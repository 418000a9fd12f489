/** How many are begun at once, then the next: what a busy process does in one turn. */
export const batch = 100;

/** Does something so many times, a batch at once. */
export async function inBatches(times: number, act: (index: number) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < times; from += batch) {
    await Promise.all(Array.from({ length: batch }, (_, index) => act(from + index)));
  }
}

/** Waits for what is handled after `emit` has resolved. */
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
