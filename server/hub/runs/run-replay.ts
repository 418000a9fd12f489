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
  slotOf,
  slotOfEntry,
  stepKind,
} from './run-entry.js';

/** Step that the user's function asked for and that has no released result. */
export interface StepRequest {
  readonly kind: StepKind;
  readonly id: string;
  /** Name of the step within its run, see {@link slotOf}. */
  readonly slot: string;
  /** Attempt of the delivery in which the function first asked for the step. */
  firstDelivery: number;
  failed: FailedAttempt | undefined;
  /** Passes the recorded value to the user's function. `entry` is the value without its output, if the engine recorded it. */
  release(value: string, entry: StepEntry | undefined): void;
}

/** Result of {@link Replay.advance}. */
export type Advance =
  /** A result was released: the function must come to rest before the next one. */
  | 'released'
  /** The entry was bookkeeping, and the next one may follow at once. */
  | 'skipped'
  /** The function has not asked for the step of the next entry. */
  | 'unrequested'
  /** Every recorded entry has been released. */
  | 'end';

/**
 * Order of a run. Releases recorded results one at a time, in the order of recording, so that the function takes the
 * same path whenever it is called: ordinals of repeated names and the winner of a race repeat. New results take the
 * same way as recorded ones.
 */
export class Replay<TRequest extends StepRequest> {
  readonly entries: RecordedEntries;
  readonly #requests = new Map<string, TRequest>();
  /** Created on first use: the ids of agents' steps are not counted. */
  #uses: Map<string, number> | undefined;
  #patches: Map<string, boolean> | undefined;
  /** Slots of the steps that contain other steps and have not ended. Their attempts are bookkeeping. */
  #open: Set<string> | undefined;
  /** Starts of the ids of steps whose entries are skipped, because the step that contains them is recorded. */
  #skipped: string[] | undefined;
  /** Starts of the ids of steps that nothing asks for any more, because the agent around them has ended. */
  #unreachedPrefixes: string[] | undefined;
  /** Slots of single steps of that kind. */
  #unreachedSlots: Set<string> | undefined;
  readonly #generation: number;
  /** Position after the last entry that an earlier delivery recorded for a step. */
  readonly #replayEnd: number;
  #toStart: TRequest[] = [];
  #nextStart = 0;
  #cursor = 0;
  #delivery = 1;

  /** @param generation number of times that the run was replayed from a dead letter */
  constructor(entries: ReadonlyMap<string, string>, generation: number) {
    this.entries = new RecordedEntries(entries, generation);
    this.#generation = generation;
    this.#replayEnd = this.entries.stepsEnd;
  }

  get isAtEnd(): boolean {
    return this.#cursor === this.entries.size;
  }

  get hasRequests(): boolean {
    return this.#requests.size > 0;
  }

  /** Returns a step that the function asked for and that has no released result. */
  requested(slot: string): TRequest | undefined {
    return this.#requests.get(slot);
  }

  /** Begins a step that contains other steps. Returns its last failed attempt, if it has one. */
  open(id: string): FailedAttempt | undefined {
    this.#open ??= new Set();
    this.#open.add(slotOf('run', id));
    return this.entries.lastFailedAttempt(id);
  }

  /** Ends a step that contains other steps: it is requested from now on. */
  close(id: string): void {
    this.#open?.delete(slotOf('run', id));
  }

  /** Skips the entries of the steps inside another one. @param prefix start of their ids */
  skip(prefix: string): void {
    this.#skipped ??= [];
    this.#skipped.push(prefix);
  }

  /**
   * Marks the remaining entries inside a part of the run that has ended as unreached: an earlier delivery, with other
   * agents or limits, recorded more steps of it.
   *
   * @param prefix start of their ids
   */
  markUnreached(prefix: string): void {
    if (this.isAtEnd) return;
    this.#unreachedPrefixes ??= [];
    this.#unreachedPrefixes.push(prefix);
  }

  /** Marks the entry of one step as unreached, whenever it is recorded: nothing requests it any more. */
  markStepUnreached(slot: string): void {
    this.#unreachedSlots ??= new Set();
    this.#unreachedSlots.add(slot);
  }

  /** Removes a step that failed without a record. */
  removeRequest(request: TRequest): void {
    this.#requests.delete(request.slot);
  }

  /** Returns the id of a step: its name, with an ordinal if the run has used the name before. */
  nextId(name: string): string {
    this.#uses ??= new Map();
    let use = this.#uses.get(name) ?? 0;
    let id: string;
    do {
      use += 1;
      id = use === 1 ? name : `${name}#${use}`;
      // A step may be named like the ordinal of another one.
    } while (use > 1 && this.#uses.has(id));
    this.#uses.set(name, use);
    if (use > 1) this.#uses.set(id, 1);
    return id;
  }

  /** Adds a step that the function asks for. */
  request(request: TRequest): void {
    request.firstDelivery = this.#delivery;
    this.#requests.set(request.slot, request);
    this.#toStart.push(request);
  }

  /**
   * Returns `true` unless the run passed this place under older code: if the entries of all steps have been released, or
   * if an earlier call that returned `true` was recorded. `isNew`: this call has to be recorded.
   */
  patched(id: string): { readonly isPatched: boolean; readonly isNew: boolean } {
    const known = this.entries.patches?.has(id) === true || this.#patches?.get(id);
    if (known !== undefined) return { isPatched: known, isNew: false };
    const isPatched = this.#cursor >= this.#replayEnd;
    this.#patches ??= new Map();
    this.#patches.set(id, isPatched);
    return { isPatched, isNew: isPatched };
  }

  /** Releases the next recorded entry to the step that it belongs to. */
  advance(): Advance {
    const key = this.entries.keys[this.#cursor];
    const value = this.entries.values[this.#cursor];
    if (key === undefined || value === undefined) return 'end';
    const name = parseEntryKey(key);
    if (this.#isBookkeeping(name)) {
      this.#cursor += 1;
      return 'skipped';
    }
    const slot = slotOf(stepKind(name.role), name.id);
    const request = this.#requests.get(slot);
    if (request === undefined) {
      if (!this.#isUnreached(name) && this.#unreachedSlots?.has(slot) !== true) return 'unrequested';
      this.#cursor += 1;
      return 'skipped';
    }
    const position = this.#cursor;
    this.#cursor += 1;
    if (name.role === 'attempt' || name.role === 'retry') {
      this.#applyAttempt(request, name, value);
      return 'skipped';
    }
    this.#requests.delete(slot);
    const entry = isAttemptedKind(name.role) ? this.entries.entryAt(position) : undefined;
    if (entry !== undefined && name.generation === this.#generation) this.#delivery = entry.delivery;
    request.release(value, entry);
    return 'released';
  }

  /** Returns the next step that waits for its start, in the order of the requests, and leaves it where it is. */
  get nextToStart(): TRequest | undefined {
    for (; this.#nextStart < this.#toStart.length; this.#nextStart += 1) {
      const request = this.#toStart[this.#nextStart];
      if (request !== undefined && this.#requests.get(request.slot) === request) return request;
    }
    this.#toStart = [];
    this.#nextStart = 0;
    return undefined;
  }

  /** Removes the step that {@link nextToStart} returned. */
  takeNext(): void {
    this.#nextStart += 1;
  }

  /** Slot of the next recorded entry, for the message of an error. */
  get nextSlot(): string | undefined {
    const key = this.entries.keys[this.#cursor];
    return key === undefined ? undefined : slotOfEntry(parseEntryKey(key));
  }

  /** Slots of the steps that the function waits for. */
  get requestedSlots(): string[] {
    return [...this.#requests.keys()];
  }

  /** Slots of recorded steps that the function never asked for. */
  unreachedSlots(): string[] {
    const unreached = new Set<string>();
    for (const key of this.entries.keys.slice(this.#cursor)) {
      const name = parseEntryKey(key);
      if (this.#isBookkeeping(name)) continue;
      const slot = slotOfEntry(name);
      if (!this.#requests.has(slot)) unreached.add(slot);
    }
    return [...unreached];
  }

  #applyAttempt(request: TRequest, name: EntryName, value: string): void {
    const { role, attempt } = name;
    if (role === 'retry') {
      if (request.failed?.attempt !== attempt) return;
      request.failed.isDue = true;
    } else {
      request.failed = this.entries.failedAttempt(name, value);
    }
    // A step is held once: by its request during a replay, and again when its attempt fails or its retry is due.
    if (!this.#toStart.includes(request, this.#nextStart)) this.#toStart.push(request);
  }

  #isUnreached({ role, id }: EntryName): boolean {
    return (
      this.#unreachedPrefixes !== undefined &&
      role !== 'run' &&
      this.#unreachedPrefixes.some((prefix) => id.startsWith(prefix))
    );
  }

  /** Entries that belong to no step that the function waits for. */
  #isBookkeeping(name: EntryName): boolean {
    const { role, id } = name;
    if (this.entries.isOfNoStep(name)) return true;
    if (this.#open !== undefined && (role === 'attempt' || role === 'retry')) return this.#open.has(slotOf('run', id));
    return this.#skipped !== undefined && role !== 'run' && this.#skipped.some((prefix) => id.startsWith(prefix));
  }
}

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

  /** Position after the last entry that a step waits for in this generation. */
  get stepsEnd(): number {
    let end = this.#keys.length;
    while (end > 0 && this.isOfNoStep(parseEntryKey(this.#keys[end - 1] ?? ''))) end -= 1;
    return end;
  }

  /** Returns `true` for bookkeeping that no step waits for, and for an entry of a step that runs again. */
  isOfNoStep(name: EntryName): boolean {
    const { role } = name;
    return role === 'patches' || role === 'ended' || role === 'started' || this.isForgotten(name);
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
