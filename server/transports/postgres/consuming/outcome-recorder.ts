import type { CommitResult, Outcome } from '../../delivery.js';
import { type BatchLimits, TickBatch } from '../../tick-batch.js';
import type { Argument, Database } from '../connection/database.js';
import { readList } from '../connection/fields.js';
import { persist } from '../connection/postgres-errors.js';
import { outcomeFields, readResult } from '../reads/stored-events.js';

const closeLimitMs = 5_000;
// A call of more would keep others waiting.
const callLimits: BatchLimits<RecordedOutcome> = {
  maxSize: 500,
  maxWeight: 4_194_304,
  weigh: ({ json }) => json.length,
};

/** Outcome as the functions of the schema read it. */
interface RecordedOutcome {
  readonly json: string;
  /** Token of the delivery whose slot is free then; `undefined` if its handler has not returned, or if its lease ended. */
  readonly freed: number | undefined;
}

/** Records the outcomes of a connection, those of one turn of the event loop in one call. */
export class OutcomeRecorder {
  readonly database: Database;
  readonly service: string;
  readonly wakeIn: (ms: number) => void;
  readonly #member: () => number;
  #deadline = Number.POSITIVE_INFINITY;
  readonly #isAwaited: (queue: number) => boolean;
  readonly #batch: TickBatch<RecordedOutcome, CommitResult>;

  /**
   * @param member returns the id of the connection
   * @param registered returns a promise that resolves when callers that wait for ends are registered
   * @param wakeIn called with the milliseconds after which a wait resolves
   * @param isAwaited returns true if events wait for the slot of one of this queue
   * @param conclude makes the call that records outcomes, of which some free the slots of their deliveries
   */
  constructor(
    database: Database,
    service: string,
    member: () => number,
    registered: () => Promise<unknown>,
    wakeIn: (ms: number) => void,
    isAwaited: (queue: number) => boolean,
    conclude: (args: readonly Argument[], freed: ReadonlySet<number>) => Promise<unknown>,
  ) {
    this.database = database;
    this.service = service;
    this.wakeIn = wakeIn;
    this.#member = member;
    this.#isAwaited = isAwaited;
    this.#batch = new TickBatch(callLimits, async (outcomes) => {
      await registered();
      const list = `[${outcomes.map(({ json }) => json).join()}]`;
      const args = [this.#member(), service, list, database.limits];
      const freed = new Set(outcomes.flatMap((each) => each.freed ?? []));
      return readList(await conclude(args, freed)).map(readResult);
    });
  }

  /** Returns the arguments of the function that records an outcome. */
  argumentsOf(seq: number, token: number, outcome: Outcome): readonly Argument[] {
    const fields = { ...outcomeFields(outcome), seq, token, isOverdue: true };
    return [this.#member(), this.service, JSON.stringify([fields]), this.database.limits];
  }

  /** Calls a function until it has taken effect: a handler must not run again because the server was away. */
  persist(name: string, args: readonly Argument[]): Promise<unknown> {
    return persist(
      () => this.database.call(name, args),
      () => this.#deadline,
    );
  }

  /** Ends repetitions soon. */
  close(): void {
    this.#deadline = performance.now() + closeLimitMs;
  }

  /**
   * Records an outcome.
   *
   * @param isOverdue the handler keeps the slots of its type and its key
   * @param queue queue of an event that is no run
   */
  conclude(seq: number, token: number, outcome: Outcome, isOverdue: boolean, queue?: number): Promise<CommitResult> {
    const json = JSON.stringify({ ...outcomeFields(outcome), seq, token, isOverdue });
    const isLast = outcome.status === 'completed' && outcome.followUps.length === 0;
    // With others, it takes a part of the time and of the writes.
    const isPatient = isLast && !isOverdue && queue !== undefined && !this.#isAwaited(queue);
    return this.#batch.add({ json, freed: isOverdue || token === 0 ? undefined : token }, isPatient);
  }
}
