import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Record of a handler's action, independent of the hub's counts. */
export interface LedgerEntry {
  /** Action, such as `start` or `end`. */
  readonly what: string;
  /** Event or run that the action belongs to. */
  readonly key: string;
  readonly attempt: number;
  readonly pid: number;
  /** Milliseconds on a clock that all processes of the machine share. */
  readonly at: number;
}

/** Appends an entry synchronously, so that it survives a `kill -9`. */
export function writeLedger(folder: string, what: string, key: string, attempt = 1): void {
  const { pid } = process;
  const entry: LedgerEntry = { what, key, attempt, pid, at: Number(process.hrtime.bigint()) / 1e6 };
  appendFileSync(join(folder, `${pid}.ledger`), `${JSON.stringify(entry)}\n`);
}

/** Reads the entries of all processes, ordered by time. Skips incomplete last lines of killed processes. */
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
