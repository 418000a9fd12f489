const maxTimeoutMs = 2 ** 31 - 1;

/** Resolves when the promise does, and after `ms` milliseconds at the latest. */
export async function within(ms: number, done: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.min(ms, maxTimeoutMs));
  });
  await Promise.race([done, deadline]);
  clearTimeout(timer);
}
