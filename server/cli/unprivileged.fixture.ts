// Any user that owns nothing.
const nobody = 65_534;

/** Runs a function as a user that permissions bind, as they do not bind the superuser. */
export async function unprivileged<T>(run: () => Promise<T>): Promise<T> {
  const { setegid, seteuid } = process;
  if (setegid === undefined || seteuid === undefined || process.getuid?.() !== 0) return run();
  setegid(nobody);
  seteuid(nobody);
  try {
    return await run();
  } finally {
    seteuid(0);
    setegid(0);
  }
}
