/** Options of a worker process. */
export interface WorkerOptions {
  readonly scenario: string;
  /** URL of Redis or Postgres, or `file:` URL of a database that one process owns. */
  readonly url: string;
  /** Schema on Postgres. */
  readonly prefix: string;
  /** Folder of the ledger. */
  readonly ledger: string;
  /** Version of the scenario. */
  readonly variant: string;
  readonly clockSkewMs: number;
  readonly maxCrashes: number;
  readonly lockDurationMs: number;
  /** Time for which the process works before it ends; 0 for a process that runs on. */
  readonly workForMs: number;
}

export function parseWorkerOptions(json: string | undefined): WorkerOptions {
  const { scenario, url, prefix, ledger, variant, clockSkewMs, maxCrashes, lockDurationMs, workForMs } = Object(
    JSON.parse(json ?? '{}'),
  ) as Record<string, unknown>;
  return {
    scenario: String(scenario),
    url: String(url),
    prefix: String(prefix),
    ledger: String(ledger),
    variant: String(variant),
    clockSkewMs: Number(clockSkewMs),
    maxCrashes: Number(maxCrashes),
    lockDurationMs: Number(lockDurationMs),
    workForMs: Number(workForMs),
  };
}
