import { randomUUID } from 'node:crypto';
import { setImmediate as endOfTurn } from 'node:timers/promises';
import { PeriodHistory } from '../../statistics/period-history.js';
import type { Logger } from '../../transport.js';
import type { CommandClient } from '../connection/command-client.js';
import { readArray, readNumber, readString } from '../connection/reply.js';
import { type ScriptArgument, scripts } from '../connection/script.js';
import { maxHistoriesPerScript } from '../connection/script-limits.js';
import { withoutArguments } from '../redis-errors.js';
import { readCountedMinute } from './counted-minute.js';

// A type takes a fraction of a millisecond, at the end of an hour more.
const maxTurnMs = 3;

/**
 * Moves the counts of minutes that are over to the histories of their types, by the minutes of Redis's clock. Every
 * process does with its heartbeats, and one at a time: until then readers add the minutes to the histories that they
 * read. A history that another process has stored meanwhile is not stored again.
 */
export class HistoryRoll {
  readonly #commands: CommandClient;
  readonly #processId: string;
  readonly #logger: Logger;
  #running: Promise<void> | undefined;
  #isClosed = false;

  constructor(commands: CommandClient, processId: string, logger: Logger) {
    this.#commands = commands;
    this.#processId = processId;
    this.#logger = logger;
  }

  /** Resolves when all minutes that are over have been moved, or another process moves them. It never rejects. */
  run(): Promise<void> {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Resolves when no script is under way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    try {
      let [minute, cursor, stored] = [-1, '0', 0];
      while (!this.#isClosed) {
        const isNewScan = cursor === '0';
        const closed = readClosed(
          await this.#script('closedMinutes', [this.#processId, cursor, maxHistoriesPerScript]),
        );
        if (closed === undefined) return;
        // A scan of the minute has stored nothing: something else changes the histories.
        if (isNewScan && closed.minute === minute && stored === 0) return;
        if (isNewScan) stored = 0;
        ({ minute, cursor } = closed);
        if (closed.types.length > 0) stored += await this.#store(closed);
      }
    } catch (error) {
      this.#logger.debug({ err: withoutArguments(error) }, 'could not store histories; the next heartbeat repeats it');
    }
  }

  async #store({ minute, types }: ClosedMinute): Promise<number> {
    const args: ScriptArgument[] = [];
    let startedAt = performance.now();
    for (const type of types) {
      args.push(...rolled(minute, type));
      if (performance.now() - startedAt < maxTurnMs) continue;
      await endOfTurn();
      startedAt = performance.now();
    }
    return readNumber(await this.#script('storeHistories', [minute, randomUUID(), ...args]));
  }

  #script(name: 'closedMinutes' | 'storeHistories', args: readonly ScriptArgument[]): Promise<unknown> {
    return this.#commands.runScript(scripts[name], args);
  }
}

interface ClosedMinute {
  readonly minute: number;
  readonly cursor: string;
  readonly types: readonly ClosedType[];
}

/** Counts of a type in a minute that is over, and its history. */
interface ClosedType {
  readonly type: string;
  readonly counts: string;
  readonly version: string;
  readonly minutes: string;
  readonly latest: string;
  /** Empty unless an hour has ended. */
  readonly hours: string;
}

function readClosed(reply: unknown): ClosedMinute | undefined {
  if (reply === null) return undefined;
  const [minute, cursor, ...types] = readArray(reply);
  return {
    minute: readNumber(minute),
    cursor: readString(cursor),
    types: types.map((each) => {
      const [type = '', counts = '', version = '', minutes = '', latest = '', hours = ''] =
        readArray(each).map(readString);
      return { type, counts, version, minutes, latest, hours };
    }),
  };
}

/** Returns the arguments that store the history of a type with a minute. */
function rolled(minute: number, { type, counts, version, ...texts }: ClosedType): readonly ScriptArgument[] {
  const history = new PeriodHistory().restore(Object.entries(texts));
  history.add(minute, readCountedMinute(counts));
  history.closeMinute();
  const { parts, firstHour = 0 } = history.pack();
  return [type, counts, version, nextVersion(version, minute), firstHour, parts.size, ...[...parts].flat()];
}

/** A version starts with the last minute of a history. A clock that was set back makes none occur twice. */
function nextVersion(version: string, minute: number): string {
  return minute > Number.parseInt(version || '0', 10) ? String(minute) : `${version}+`;
}
