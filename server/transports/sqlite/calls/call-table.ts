import type { Database, Statement } from '../database/driver.js';
import { numberOf, textOf } from '../loading/stored-values.js';

/** Call that waits for its answer. */
export interface Call {
  readonly id: number;
  readonly service: string;
  readonly method: string;
  /** Encoded by `encodeCall`. */
  readonly args: string;
  /** Epoch milliseconds at which the caller stops waiting. */
  readonly deadline: number;
}

// The caller deletes its answer. What it left behind is deleted after this time.
const answerLifetimeMs = 60_000;

/** Calls of other processes to the one that owns the file, as rows. */
export class CallTable {
  readonly #version: Statement;
  readonly #insert: Statement;
  readonly #unanswered: Statement;
  readonly #take: Statement;
  readonly #answer: Statement;
  readonly #interrupt: Statement;
  readonly #read: Statement;
  readonly #withdraw: Statement;
  readonly #remove: Statement;
  readonly #expire: Statement;

  constructor(database: Database) {
    this.#version = database.prepare('PRAGMA data_version');
    this.#insert = database.prepare(
      'INSERT INTO calls (service, method, arguments, deadline) VALUES (?, ?, ?, ?) RETURNING id',
    );
    this.#unanswered = database.prepare('SELECT * FROM calls WHERE answer IS NULL AND is_taken = 0 ORDER BY id');
    this.#take = database.prepare('UPDATE calls SET is_taken = 1 WHERE id = ? RETURNING id');
    this.#answer = database.prepare('UPDATE calls SET answer = ? WHERE id = ?');
    this.#interrupt = database.prepare('UPDATE calls SET answer = ? WHERE answer IS NULL AND is_taken = 1');
    this.#read = database.prepare('SELECT answer FROM calls WHERE id = ? AND answer IS NOT NULL');
    this.#withdraw = database.prepare('DELETE FROM calls WHERE id = ? AND is_taken = 0 RETURNING id');
    this.#remove = database.prepare('DELETE FROM calls WHERE id = ?');
    this.#expire = database.prepare('DELETE FROM calls WHERE deadline < ?');
  }

  /** Number that changes when another connection changed the file. */
  get version(): number {
    return numberOf(this.#version.get() ?? {}, 'data_version');
  }

  /** Adds a call. Returns its id. */
  add({ service, method, args, deadline }: Omit<Call, 'id'>): number {
    return numberOf(this.#insert.get(service, method, args, deadline) ?? {}, 'id');
  }

  /** Calls that nobody has taken, the oldest first. */
  get waiting(): readonly Call[] {
    return this.#unanswered.all().map((row) => ({
      id: numberOf(row, 'id'),
      service: textOf(row, 'service'),
      method: textOf(row, 'method'),
      args: textOf(row, 'arguments'),
      deadline: numberOf(row, 'deadline'),
    }));
  }

  /** Takes a call, so that it is not executed again. Returns `false` if it was withdrawn. */
  take(id: number): boolean {
    return this.#take.get(id) !== undefined;
  }

  answer(id: number, answer: string): void {
    this.#answer.run(answer, id);
  }

  /** Answers the calls that were taken by a process that has ended. */
  interrupt(answer: string): void {
    this.#interrupt.run(answer);
  }

  answerTo(id: number): string | undefined {
    const row = this.#read.get(id);
    return row === undefined ? undefined : textOf(row, 'answer');
  }

  /** Deletes a call that nobody has taken. Returns `false` if it is taken. */
  withdraw(id: number): boolean {
    return this.#withdraw.get(id) !== undefined;
  }

  remove(id: number): void {
    this.#remove.run(id);
  }

  /** Deletes the calls whose callers ended without deleting them. */
  expire(now: number): void {
    this.#expire.run(now - answerLifetimeMs);
  }
}
