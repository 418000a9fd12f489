import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';

/** Streams of the process that runs the command line, or those of a tool call. */
export interface Streams {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable & { readonly isTTY?: boolean };
  readonly stderr: Writable & { readonly isTTY?: boolean };
}

const barWidth = 24;

/** Writes results to the standard output, and everything else to the standard error. */
export class Terminal {
  readonly streams: Streams;

  constructor(streams: Streams) {
    this.streams = streams;
  }

  /** The output is a terminal, so that a table may replace the former one. */
  get isInteractive(): boolean {
    return this.streams.stdout.isTTY === true;
  }

  line(text = ''): void {
    this.streams.stdout.write(`${plain(text)}\n`);
  }

  json(value: unknown): void {
    // JSON allows these control characters, which some terminals obey.
    const text = JSON.stringify(value, null, 2).replaceAll(/[\u007f-\u009f]/g, escapeCharacter);
    this.streams.stdout.write(`${text}\n`);
  }

  /** Writes rows as columns of equal width. Writes nothing without rows. */
  table(columns: readonly string[], rows: readonly (readonly string[])[]): void {
    for (const line of tableLines(columns, rows)) this.line(line);
  }

  /** Replaces what the terminal shows. */
  frame(lines: readonly string[]): void {
    // Moves the cursor to the top, and clears what is right of each line and below the last one.
    const clear = this.isInteractive;
    const text = lines.map((line) => `${plain(line)}${clear ? '\u001b[K' : ''}\n`).join('');
    this.streams.stdout.write(clear ? `\u001b[H${text}\u001b[J` : text);
  }

  /** Waits until the output is written or has failed. */
  async flush(): Promise<void> {
    await new Promise((resolve) => this.streams.stdout.write('', resolve));
  }

  note(text: string): void {
    this.streams.stderr.write(`${plain(text)}\n`);
  }

  /** Shows the progress of a bulk action if the standard error is a terminal. */
  progress(done: number, total: number): void {
    if (this.streams.stderr.isTTY !== true) return;
    const filled = Math.round((done / total) * barWidth);
    const bar = '#'.repeat(filled).padEnd(barWidth, '-');
    this.streams.stderr.write(`\r[${bar}] ${done}/${total}${done === total ? '\n' : ''}`);
  }

  /** Asks a question that is answered with yes or no; an abort is a no. Returns `undefined` if nobody can answer. */
  async confirm(question: string, signal: AbortSignal): Promise<boolean | undefined> {
    const { stdin, stderr } = this.streams;
    if (stdin.isTTY !== true) return undefined;
    // The store answered after the interrupt.
    if (signal.aborted) return false;
    const prompt = createInterface({ input: stdin, output: stderr });
    // The end of the input and an interrupt close the prompt, and leave its question without an answer.
    const closed = once(prompt, 'close').then(() => '');
    const close = (): void => prompt.close();
    signal.addEventListener('abort', close);
    try {
      const answer = await Promise.race([prompt.question(`${plain(question)} [y/N] `), closed]);
      return /^y(es)?$/i.test(answer.trim());
    } finally {
      signal.removeEventListener('abort', close);
      prompt.close();
    }
  }
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Returns rows below their headings, in columns of equal width. Numbers are aligned to the right. */
export function tableLines(columns: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  if (rows.length === 0) return [];
  const all = [columns, ...rows].map((row) => row.map(plain));
  const widths = columns.map((_, index) => Math.max(...all.map((row) => row[index]?.length ?? 0)));
  const isNumeric = columns.map((_, index) => rows.every((row) => /^[\d.,]*( ?%)?$/.test(row[index] ?? '')));
  return all.map((row) =>
    row
      .map((cell, index) => (isNumeric[index] ? cell.padStart(widths[index] ?? 0) : cell.padEnd(widths[index] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

/** Returns text without control characters: a message of an error must not control the terminal. */
export function plain(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, ' ');
}

const units: readonly (readonly [ms: number, name: string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
];

/** Returns milliseconds in the largest unit that fits: `3.2 h`, `450 ms`. */
export function formatMs(ms: number): string {
  for (const [size, name] of units) {
    if (ms >= size) return `${Number((ms / size).toFixed(ms < 10 * size ? 1 : 0))} ${name}`;
  }
  return `${Math.round(ms)} ms`;
}

/** Returns a number with its noun: `1 event type`, `2 processes`. @param many the plural if it is not formed by an `s` */
export function formatCount(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** Returns the time since a moment; `''` if there is none. */
export function formatAge(at: number | undefined, now: number): string {
  return at === undefined ? '' : `${formatMs(Math.max(0, now - at))} ago`;
}

/** Returns a moment in ISO 8601; `''` if there is none. */
export function formatTime(at: number | undefined): string {
  return at === undefined ? '' : new Date(at).toISOString();
}

const durationUnits: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads a moment: a duration before now such as `90s`, `30m`, `2h` or `7d`, or a date. `undefined` if it is neither. */
export function parseSince(text: string, now: number): number | undefined {
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)(s|m|h|d)$/.exec(text) ?? [];
  if (amount !== undefined) return now - Number(amount) * (durationUnits[unit] ?? 0);
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}

/** Exit codes of the command line. */
export const exitCodes = {
  /** The store cannot be read, or an action failed. */
  failed: 1,
  /** Wrong arguments, or a confirmation that nobody gave. */
  usage: 2,
  /** Nothing was found. */
  notFound: 3,
  /** `status` found a failing hub. */
  unhealthy: 4,
} as const;

/** Ends a command with an exit code, and a message on the standard error. */
export class ExitError extends Error {
  readonly exitCode: number;

  constructor(exitCode: number, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}
