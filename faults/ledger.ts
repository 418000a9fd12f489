import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What a handler says that it did, beside anything that the hub counts. */
export interface LedgerEntry {
  /** What was done, such as `start` or `end`. */
  readonly what: string;
  /** To which event or run. */
  readonly key: string;
  readonly attempt: number;
  readonly pid: number;
  /** Milliseconds on a clock that all processes of the machine share. */
  readonly at: number;
}

/** Writes a line before it returns; what was written outlives a `kill -9`. */
export function writeLedger(folder: string, what: string, key: string, attempt = 1): void {
  const { pid } = process;
  const entry: LedgerEntry = { what, key, attempt, pid, at: Number(process.hrtime.bigint()) / 1e6 };
  appendFileSync(join(folder, `${pid}.ledger`), `${JSON.stringify(entry)}\n`);
}

/** All that all processes wrote, in the order of time. What a process was killed in the midst of writing is left out. */
export function readLedger(folder: string): LedgerEntry[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.ledger'))
    .flatMap((file) => readFileSync(join(folder, file), 'utf8').split('\n').slice(0, -1).map(parseEntry))
    .sort((a, b) => a.at - b.at);
}

function parseEntry(line: string): LedgerEntry {
  const { what, key, attempt, pid, at } = Object(JSON.parse(line)) as Record<string, unknown>;
  return { what: String(what), key: String(key), attempt: Number(attempt), pid: Number(pid), at: Number(at) };
}
