import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { messageOf } from '../errors.js';
import { stackFrames } from '../stack.js';
import type { Logger } from '../transports/transport.js';

/** Folder of this library, as frames of a stack have it. */
const ownFolder = new URL('..', import.meta.url);
const ownFolders = [ownFolder.href, fileURLToPath(ownFolder)];
const maxLinesPerSecond = 20;

/**
 * Creates the logger of a hub that was given none: a line on stderr for each warning and error, at most 20 per second.
 *
 * @param now current time in milliseconds from an arbitrary point
 */
export function defaultLogger(now: () => number = () => performance.now()): Logger {
  let secondEndsAt = Number.NEGATIVE_INFINITY;
  let lines = 0;
  const isLeftOut = (): boolean => {
    if (now() >= secondEndsAt) {
      if (lines > maxLinesPerSecond) console.error(`hubline: ${lines - maxLinesPerSecond} more lines within a second`);
      secondEndsAt = now() + 1_000;
      lines = 0;
    }
    lines += 1;
    return lines > maxLinesPerSecond;
  };
  const write = (fields: object, message: string): void => {
    if (!isLeftOut()) console.error(lineOf(fields, message));
  };
  return withChildren({ debug: () => {}, info: () => {}, warn: write, error: write });
}

/** Creates a logger that passes the message to the console before its fields, and errors without frames of this library. */
export function consoleLogger(target: Pick<Console, 'debug' | 'error' | 'info' | 'warn'>): Logger {
  const writeTo =
    (level: keyof typeof target) =>
    (fields: object, message: string): void => {
      const shown = Object.entries(fields).map(([name, value]) => [name, shortened(value)]);
      target[level](message, ...(shown.length === 0 ? [] : [Object.fromEntries(shown)]));
    };
  return withChildren({
    debug: writeTo('debug'),
    info: writeTo('info'),
    warn: writeTo('warn'),
    error: writeTo('error'),
  });
}

/** Adds `child` to a logger that passes on all fields. */
function withChildren(logger: Omit<Logger, 'child'>, own: object = {}): Logger {
  const { debug, info, warn, error } = logger;
  return {
    debug: (fields, message) => debug({ ...own, ...fields }, message),
    info: (fields, message) => info({ ...own, ...fields }, message),
    warn: (fields, message) => warn({ ...own, ...fields }, message),
    error: (fields, message) => error({ ...own, ...fields }, message),
    child: (fields) => withChildren(logger, { ...own, ...fields }),
  };
}

function lineOf(fields: object, message: string): string {
  const named = Object.entries(fields).filter(([name]) => name !== 'err');
  const err: unknown = Reflect.get(fields, 'err');
  const cause = err === undefined ? [] : [err instanceof Error ? `${err.name}: ${messageOf(err)}` : inspect(err)];
  const rest = named.map(([name, value]) => `${name}=${wordOf(value)}`);
  return [`hubline: ${[message, ...cause].join(': ')}`, ...rest].join(' ').replaceAll(/\p{Cc}+/gu, ' ');
}

function wordOf(value: unknown): string {
  if (typeof value === 'string' && /^[\w.:@/#-]+$/.test(value)) return value;
  return inspect(value, { depth: 1, compact: true, breakLength: Number.POSITIVE_INFINITY });
}

/** Returns a copy of an error without frames of this library. The error is the application's, which may show it elsewhere. */
function shortened(value: unknown): unknown {
  if (!(value instanceof Error)) return value;
  try {
    return withoutOwnFrames(value);
  } catch {
    // It cannot be copied: its getters read private fields, as those of a `DOMException` do.
    return value;
  }
}

function withoutOwnFrames(value: Error): Error {
  const frames = stackFrames(value);
  const kept = frames.split('\n').filter((frame) => !ownFolders.some((folder) => frame.includes(folder)));
  const stack = { value: value.stack?.replace(frames, () => kept.join('\n')), configurable: true };
  // A native error: consoles and error trackers ask for that.
  const copy = Object.setPrototypeOf(new Error(), Object.getPrototypeOf(value));
  Object.defineProperties(copy, { ...Object.getOwnPropertyDescriptors(value), stack });
  // A console reads both, which throws if they are getters that read private fields.
  void [copy.name, copy.message];
  return copy;
}
