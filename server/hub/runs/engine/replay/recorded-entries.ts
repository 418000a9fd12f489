import {
  type EntryName,
  entryKey,
  isAttemptedKind,
  notedStep,
  parseEntryKey,
  readEntry,
  readPatches,
  type StepEntry,
  type StepKind,
  slotOfEntry,
} from './run-entry.js';

/** Failed attempt of a step that a retry follows. */
export interface FailedAttempt {
  readonly attempt: number;
  /** Attempt of the delivery in which it failed. */
  readonly delivery: number;
  /** Epoch milliseconds of the next attempt. */
  readonly retryAt: number;
  /** The time of the next attempt has come. */
  isDue: boolean;
}

const none: readonly unknown[] = [];

/** Recorded entries of a run, in the order of recording. */
export class RecordedEntries {
  readonly keys: readonly string[];
  readonly values: readonly string[];
  /** Names that `step.patched` answered with `true`; `undefined` if there are none. */
  readonly patches: ReadonlySet<string> | undefined;
  readonly #keys: string[] = [];
  readonly #values: string[] = [];
  /** Entry of each value that this process wrote. */
  readonly #parsed: (StepEntry | undefined)[] = [];
  readonly #generation: number;
  /** Created on first use: few runs have agents. */
  #keySet: Set<string> | undefined;
  /** Slots whose failure ended an earlier generation of the run, each with that generation. */
  #forgotten: Map<string, number> | undefined;
  /** Notes of earlier deliveries by the id of their step; `undefined` if there are none. */
  #notes: Map<string, unknown[]> | undefined;

  /** @param generation number of times that the run was replayed from a dead letter */
  constructor(entries: ReadonlyMap<string, string>, generation: number) {
    this.keys = this.#keys;
    this.values = this.#values;
    this.#generation = generation;
    let patches: Set<string> | undefined;
    for (const [key, value] of entries) {
      this.append(key, value);
      if (key.startsWith('patches')) {
        patches ??= new Set();
        for (const name of readPatches(value).names) patches.add(name);
      } else if (key.startsWith('ended')) {
        this.#readEnded(key, value);
      } else {
        this.#readNote(key, value);
      }
    }
    this.patches = patches;
  }

  get size(): number {
    return this.#keys.length;
  }

  /** Version of the workflow that last recorded a step or a patch; `undefined` before the first one. */
  get lastVersion(): number | undefined {
    for (let index = this.#keys.length - 1; index >= 0; index -= 1) {
      const { role } = parseEntryKey(this.#keys[index] ?? '');
      const value = this.#values[index] ?? '';
      if (isAttemptedKind(role) || role === 'attempt') return readEntry(value).version;
      const patched = role === 'patches' ? readPatches(value).version : undefined;
      if (patched !== undefined) return patched;
    }
    return undefined;
  }

  /**
   * Appends an entry that was recorded just now.
   *
   * @param parsed what {@link readEntry} returns for the value, if the caller knows it
   */
  append(key: string, value: string, parsed?: StepEntry): void {
    this.#keys.push(key);
    this.#keySet?.add(key);
    this.#values.push(value);
    this.#parsed.push(parsed);
  }

  /** Returns `true` if the result of a step is recorded. */
  hasResult(kind: StepKind, id: string): boolean {
    const keys = this.#recordedKeys();
    for (let generation = 0; generation <= this.#generation; generation += 1) {
      const name = { role: kind, generation, id, attempt: 0 };
      if (keys.has(entryKey(name)) && !this.isForgotten(name)) return true;
    }
    return false;
  }

  /** Returns `true` if the start of a step is recorded. */
  hasStart(id: string): boolean {
    const keys = this.#recordedKeys();
    for (let generation = 0; generation <= this.#generation; generation += 1) {
      if (keys.has(entryKey({ role: 'started', generation, id, attempt: 0 }))) return true;
    }
    return false;
  }

  /** Returns the notes on a step that earlier deliveries recorded. */
  notesOn(id: string): readonly unknown[] {
    return this.#notes?.get(id) ?? none;
  }

  /** Returns the entry at a position. */
  entryAt(index: number): StepEntry {
    return this.#parsed[index] ?? readEntry(this.#values[index] ?? '');
  }

  /** Returns the last failed attempt of a step, if it has one. */
  lastFailedAttempt(id: string): FailedAttempt | undefined {
    let failed: FailedAttempt | undefined;
    for (const [index, key] of this.#keys.entries()) {
      const name = parseEntryKey(key);
      if ((name.role !== 'attempt' && name.role !== 'retry') || name.id !== id || this.isForgotten(name)) continue;
      if (name.role === 'attempt') failed = this.failedAttempt(name, this.#values[index] ?? '');
      else if (failed?.attempt === name.attempt) failed.isDue = true;
    }
    return failed;
  }

  /** Reads an entry of role `attempt`. */
  failedAttempt({ attempt, generation }: EntryName, value: string): FailedAttempt {
    const { delivery, retryAt = 0 } = readEntry(value);
    return { attempt, delivery: generation === this.#generation ? delivery : 1, retryAt, isDue: false };
  }

  /** Returns `true` for an entry of a step that runs again, because its failure ended an earlier generation. */
  isForgotten(name: EntryName): boolean {
    if (this.#forgotten === undefined) return false;
    const until = this.#forgotten.get(slotOfEntry(name));
    return until !== undefined && name.generation <= until;
  }

  #recordedKeys(): ReadonlySet<string> {
    if (this.#keySet === undefined) this.#keySet = new Set(this.#keys);
    return this.#keySet;
  }

  #readNote(key: string, value: string): void {
    const id = notedStep(key);
    if (id === undefined) return;
    this.#notes ??= new Map();
    const notes = this.#notes.get(id);
    const note: unknown = JSON.parse(value);
    if (notes === undefined) this.#notes.set(id, [note]);
    else notes.push(note);
  }

  #readEnded(key: string, value: string): void {
    const { generation } = parseEntryKey(key);
    if (generation >= this.#generation) return;
    this.#forgotten ??= new Map();
    this.#forgotten.set(JSON.parse(value) as string, generation);
  }
}
