/** Called by Next once, before the first request. */
export async function register(): Promise<void> {
  // Next also builds this file for the edge runtime, which has no long-lived process.
  if (process.env.NEXT_RUNTIME === 'nodejs') {
    const { startHub } = await import('./hub');
    await startHub();
  }
}
