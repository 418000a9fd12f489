import type { Entry } from '../../broker/entry.js';
import type { CrashGuard, GuardedDelivery } from '../../broker/journal.js';
import type { Clock } from '../../clock.js';
import { CrashLoopError } from '../../errors.js';
import { loneEvents, loneLimitMs } from '../../lone-events.js';
import type { Database, Statement } from '../database/driver.js';
import { numberOf } from '../stored-values.js';
import type { SqliteJournal } from './sqlite-journal.js';

/** State of a suspect in the file. */
const runStates = { idle: 0, started: 1, alone: 2, isCause: 3 } as const;

/** Entry of which each start is stored. */
interface Suspect {
  readonly crashes: number;
  readonly run: number;
}

/** State of the process that owns the file. */
const processStates = { ended: 0, running: 1, runningWithNotes: 2 } as const;

// A crash without notes names nobody, and in the last one the event is alone: one between them tells which events ran.
const leastWithoutNotes = 3;
// An event that has to run alone waits for another such event, and for those that have their turn.
const loneDelayMs = 200;

/**
 * Counts the crashes of the processes that owned the file, per event.
 *
 * To store each start would cost each event a write. After a crash the file shows which events were pending: these are
 * suspects, and from then on their starts are stored, so that a second crash tells which of them ran. On its last chance
 * an event runs alone: only a crash then proves that it is the cause. If two crashes have to suffice, all events are
 * suspects from the start.
 */
export class CrashCounts implements CrashGuard {
  readonly #journal: SqliteJournal;
  readonly #maxCrashes: number;
  /** Suspects that have started since a crash, by position. */
  readonly #suspects = new Map<number, Suspect>();
  /** All events are suspects. */
  readonly #notesAll: boolean;
  /** Events up to this position were pending in a crash without notes. */
  readonly #until: number;
  /** A pending event is a suspect, or the next one will be. */
  readonly hasSuspects: boolean;
  readonly #statements: {
    readonly suspect: Statement;
    readonly clear: Statement;
    readonly running: Statement;
    readonly until: Statement;
  };
  readonly #clock: Clock;
  #lone: { readonly entry: Entry; readonly end: () => void } | undefined;

  /** Reads the counts. The next transaction stores those that a crash of the last owner changed. */
  constructor(database: Database, journal: SqliteJournal, clock: Clock, maxCrashes: number) {
    this.#journal = journal;
    this.#clock = clock;
    this.#maxCrashes = maxCrashes;
    this.#notesAll = maxCrashes < leastWithoutNotes;
    this.#statements = {
      suspect: database.prepare('INSERT OR REPLACE INTO crash_suspects VALUES (?, ?, ?)'),
      clear: database.prepare('DELETE FROM crash_suspects WHERE position = ?'),
      running: database.prepare('UPDATE crash_state SET is_running = ?'),
      until: database.prepare('UPDATE crash_state SET suspects_until = ?'),
    };
    const state = database.prepare('SELECT is_running, suspects_until FROM crash_state').get() ?? {};
    const last = numberOf(state, 'is_running');
    const hasCrashed = last !== processStates.ended;
    for (const row of database.prepare('SELECT * FROM crash_suspects').all()) {
      const position = numberOf(row, 'position');
      const suspect = { crashes: numberOf(row, 'crashes'), run: numberOf(row, 'is_started') };
      const ended = afterEnd(suspect, hasCrashed);
      if (ended === suspect) this.#suspects.set(position, suspect);
      else this.#store(position, ended);
    }
    this.#until = last === processStates.running ? journal.lastPosition : numberOf(state, 'suspects_until');
    this.hasSuspects = this.#notesAll || this.#suspects.size > 0 || isAnyPending(database, this.#until);
    if (!hasCrashed) return;
    journal.store([this.#statements.until, this.#until]);
    journal.store([this.#statements.running, processStates.ended]);
  }

  /** Reports that handlers may run: if the process ends without {@link ended}, it has crashed. */
  began(): void {
    const { running, runningWithNotes } = processStates;
    this.#journal.store([this.#statements.running, this.#notesAll ? runningWithNotes : running]);
  }

  /** Reports that no handler runs, and none will. */
  ended(): void {
    this.#lone?.end();
    this.#journal.store([this.#statements.running, processStates.ended]);
  }

  isSuspect({ record }: Entry): boolean {
    if (record === undefined) return false;
    return this.#notesAll || record.position <= this.#until || this.#suspects.has(record.position);
  }

  deliver(delivery: GuardedDelivery, handle: () => void): void {
    const { entry } = delivery;
    // A crash without notes counts for all events that were pending, unless each of them would have to run alone now.
    const assumed = this.#notesAll ? 0 : 1;
    const { crashes, run } = this.#suspects.get(positionOf(entry)) ?? { crashes: assumed, run: runStates.idle };
    if (run === runStates.isCause && crashes >= this.#maxCrashes) {
      delivery.refusal = new CrashLoopError(entry.envelope.type, crashes);
      handle();
    } else if (crashes >= this.#maxCrashes - 1) {
      this.#deliverAlone(delivery, crashes, handle);
    } else {
      this.#noteRun(delivery, () => ({ crashes, run: runStates.started }), handle);
    }
  }

  #deliverAlone(delivery: GuardedDelivery, crashes: number, handle: () => void): void {
    const { entry } = delivery;
    let run: Suspect['run'] = runStates.started;
    let hasStarted = false;
    const start = (): void => {
      hasStarted = true;
      handle();
    };
    const end = loneEvents.reserve({
      id: entry.envelope.id,
      clock: this.#clock,
      limitMs: loneLimitMs(crashes - this.#maxCrashes + 1),
      begin: (isAlone) => {
        if (isAlone) run = runStates.alone;
        this.#noteRun(delivery, () => ({ crashes, run }), start);
      },
      recordShared: (recorded) => {
        run = runStates.started;
        if (hasStarted) {
          this.#noteRun(delivery, () => ({ crashes, run }), recorded);
          return;
        }
        // The file cannot be written. Its next transaction has both notes; hubs on other transports must not wait for it.
        if (delivery.isLeased) this.#store(positionOf(entry), { crashes, run });
        recorded();
      },
    });
    if (end !== undefined) this.#lone = { entry, end };
    else void delivery.commit({ status: 'released', durationMs: 0, delayMs: loneDelayMs });
  }

  #noteRun(delivery: GuardedDelivery, suspect: () => Suspect, stored: () => void): void {
    this.#journal.settleLater(
      () => {
        if (delivery.isLeased) this.#store(positionOf(delivery.entry), suspect());
      },
      () => {
        if (delivery.isLeased) stored();
      },
    );
  }

  released(entry: Entry): void {
    this.#endLone(entry);
    if (!this.isSuspect(entry)) return;
    const position = positionOf(entry);
    const known = this.#suspects.get(position);
    if (known !== undefined && isRunning(known)) this.#store(position, { crashes: known.crashes, run: runStates.idle });
  }

  advanced(entry: Entry): void {
    if (!this.isSuspect(entry)) return;
    const position = positionOf(entry);
    const known = this.#suspects.get(position);
    if (!entry.ended) {
      const run = entry.lease !== undefined ? runStates.started : runStates.idle;
      if (known === undefined || known.crashes > 0) this.#store(position, { crashes: 0, run });
      this.#endLone(entry);
    } else if (known !== undefined) {
      this.#suspects.delete(position);
      this.#journal.store([this.#statements.clear, position]);
    }
  }

  #endLone(entry: Entry): void {
    const lone = this.#lone;
    // Hubs on other transports do not wait until this file has the outcome.
    if (lone?.entry === entry) this.#journal.afterStored(lone.end);
  }

  #store(position: number, suspect: Suspect): void {
    this.#suspects.set(position, suspect);
    this.#journal.store([this.#statements.suspect, position, suspect.crashes, suspect.run]);
  }
}

function positionOf({ record }: Entry): number {
  return record?.position ?? 0;
}

function isRunning({ run }: Suspect): boolean {
  return run === runStates.started || run === runStates.alone;
}

/** Returns the suspect after the end of its process. */
function afterEnd(suspect: Suspect, hasCrashed: boolean): Suspect {
  if (!isRunning(suspect)) return suspect;
  const { crashes, run } = suspect;
  if (!hasCrashed) return { crashes, run: runStates.idle };
  return { crashes: crashes + 1, run: run === runStates.alone ? runStates.isCause : runStates.idle };
}

function isAnyPending(database: Database, until: number): boolean {
  const pending = database.prepare('SELECT 1 FROM events WHERE position <= ? AND state <> 0 LIMIT 1').get(until);
  return (
    pending !== undefined ||
    database.prepare('SELECT 1 FROM spilled_events WHERE position <= ? LIMIT 1').get(until) !== undefined
  );
}
