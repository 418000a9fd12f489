/** Next calls this once, before it serves. */
export async function register(): Promise<void> {
  // Built for the edge as well, where there is no process to keep events in.
  if (process.env.NEXT_RUNTIME === 'nodejs') {
    const { startHub } = await import('./hub');
    await startHub();
  }
}
