import { type ErrorInfo, errorInfo } from '../../errors.js';
import type { Broker } from '../broker/broker.js';
import type { CommitResult, Envelope, FailedOutcome, Outcome } from '../delivery.js';
import { errorOf, TransportUnavailableError } from '../errors.js';
import { callPart, findCall, type PartCall } from '../parts.js';
import type { Retirement, RetireOptions } from '../services.js';
import type { Logger, Receipt, TransportManager } from '../transport.js';
import type { Commits } from './database/committer.js';
import type { Database, Statement } from './database/driver.js';
import { retireService } from './retire-service.js';
import { AnswerTooLargeError, reasonOf } from './sqlite-errors.js';
import { numberOf, textOf } from './stored-values.js';

const idleMs = 100;
const busyMs = 10;
// A caller often calls again.
const busyForMs = 1_000;
// SQLite allows 1 GB; memory has the answer several times.
const maxAnswerLength = 64 * 1024 * 1024;

/** Executes the calls of other processes in the process that owns the file. */
export class CallServer {
  readonly #table: CallTable;
  readonly #committer: Commits;
  readonly #logger: Logger;
  readonly #targetOf: (service: string) => CallTarget;
  readonly #running = new Set<number>();
  // Other processes do not see a fake clock.
  #timer: NodeJS.Timeout | undefined;
  #version = -1;
  #busyUntil = 0;
  #hasFailed = false;

  /** @param targetOf returns the state that the calls of a service read and change */
  constructor(database: Database, committer: Commits, logger: Logger, targetOf: (service: string) => CallTarget) {
    this.#table = new CallTable(database);
    this.#committer = committer;
    this.#logger = logger;
    this.#targetOf = targetOf;
  }

  /** Starts to look for calls. Those that an earlier process took are answered: their result is unknown. */
  async open(): Promise<void> {
    const ended = new TransportUnavailableError(
      'the process that owned the file ended during the call',
      undefined,
      'it may have carried it out; read the state before a retry',
    );
    await this.#committer.write(() => {
      this.#table.interrupt(encodeCall(failedAnswer(ended)));
      this.#table.expire(Date.now());
    });
    this.#look();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    try {
      this.#startWaiting();
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed) this.#logger.warn({ reason: reasonOf(error) }, 'calls of other processes cannot be read');
      this.#hasFailed = true;
    }
    this.#timer = setTimeout(() => this.#look(), performance.now() < this.#busyUntil ? busyMs : idleMs);
    this.#timer.unref();
  }

  #startWaiting(): void {
    const { version } = this.#table;
    if (version === this.#version) return;
    const { waiting } = this.#table;
    this.#version = version;
    for (const call of waiting) {
      if (this.#running.has(call.id)) continue;
      this.#busyUntil = performance.now() + busyForMs;
      this.#running.add(call.id);
      void this.#serve(call).finally(() => this.#running.delete(call.id));
    }
  }

  async #serve(call: Call): Promise<void> {
    const { id, method, deadline } = call;
    try {
      const isWanted = Date.now() < deadline;
      if (!isWanted) return await this.#committer.write(() => this.#table.remove(id));
      if (isChange(method) && !(await this.#committer.write(() => this.#table.take(id)))) return;
      const answer = await this.#execute(call);
      await this.#committer.write(() => {
        this.#table.answer(id, answer);
        this.#table.expire(Date.now());
      });
    } catch (error) {
      // The caller learns from the missing answer.
      this.#logger.warn({ method, reason: reasonOf(error) }, 'a call of another process could not be answered');
    }
  }

  async #execute({ service, method, args }: Call): Promise<string> {
    let answer: Answer;
    try {
      answer = { value: await executeCall(this.#targetOf(service), method, decodeArguments(args)) };
    } catch (error) {
      answer = failedAnswer(error);
    }
    const text = encodeCall(answer);
    if (text.length <= maxAnswerLength) return text;
    return encodeCall(failedAnswer(new AnswerTooLargeError(maxAnswerLength / 1_048_576)));
  }
}

/** State that calls of one service read and change. */
export interface CallTarget {
  readonly broker: Broker;
  readonly manager: TransportManager;
}

/**
 * Operations beside the parts of a transport. Other processes end runs and events by errors and outcomes, which can be
 * sent, in place of functions.
 */
interface Operations {
  publish(envelopes: readonly Envelope[]): Promise<readonly Receipt[]>;
  /** Returns an event that `cancel` would end. */
  findCancellable(id: string, service?: string): Promise<Envelope | undefined>;
  cancel(id: string, outcome: FailedOutcome, service?: string): Promise<boolean>;
  endRun(type: string, id: string, outcome: Outcome, reason: ErrorInfo, service?: string): Promise<CommitResult>;
  retire(options: RetireOptions): Promise<Retirement>;
}

export type OperationName = keyof Operations;

/** Arguments of an operation. */
export type OperationArguments<N extends OperationName> = Parameters<Operations[N]>;

/** Result of an operation. */
export type OperationResult<N extends OperationName> = Awaited<ReturnType<Operations[N]>>;

const operations: {
  readonly [N in OperationName]: (target: CallTarget, ...args: OperationArguments<N>) => Promise<OperationResult<N>>;
} = {
  publish: async ({ manager }, envelopes) => manager.publish(envelopes),
  findCancellable: async ({ broker, manager }, id, service = manager.service) =>
    broker.findGroup(service)?.findCancellable(id)?.envelope,
  cancel: ({ manager }, id, outcome, service) => manager.runs.cancel(id, () => outcome, service),
  endRun: ({ manager }, type, id, outcome, reason, service) =>
    manager.runs.end(type, id, outcome, errorOf(reason), service),
  retire: ({ broker, manager }, options) => retireService(broker, manager.service, options),
};

/** Name of a call in the file: of an operation, or of a part and its method. */
export function methodOf({ part, method }: PartCall): string {
  return `${part}.${method}`;
}

function partCallOf(method: string): PartCall | undefined {
  const [part = '', name = ''] = method.split('.');
  return findCall(part, name);
}

/** The call changes the state, so that it must not be repeated. */
export function isChange(method: string): boolean {
  if (Object.hasOwn(operations, method)) return method !== 'findCancellable';
  return partCallOf(method)?.effect === 'change';
}

/** Executes a call. */
export async function executeCall(target: CallTarget, method: string, args: readonly unknown[]): Promise<unknown> {
  if (Object.hasOwn(operations, method)) {
    // The schema version of the file states that this package wrote the call, with the arguments of the operation.
    const operation = operations[method as OperationName] as (target: CallTarget, ...args: never[]) => Promise<unknown>;
    return operation(target, ...(args as never[]));
  }
  const call = partCallOf(method);
  if (call === undefined || call.effect === 'local') throw new TypeError('the operation does not exist');
  return callPart(target.manager, call, args);
}

/** Answer to a call as the file has it. */
type Answer = { readonly value: unknown } | { readonly error: ErrorInfo };

// No record has a property of this name.
const mapTag = '\u0000map';

/** Encodes the arguments of a call, or an answer. Maps stay maps; properties that are `undefined` are left out. */
export function encodeCall(value: readonly unknown[] | Answer): string {
  return JSON.stringify(value, (_, each) => (each instanceof Map ? { [mapTag]: [...each] } : each));
}

/** Returns the arguments that {@link encodeCall} encoded. */
function decodeArguments(text: string): readonly unknown[] {
  const decoded = decode(text);
  return Array.isArray(decoded) ? decoded : [];
}

/** Returns the value of an answer. @throws the error of an answer */
export function decodeAnswer(text: string): unknown {
  const answer = Object(decode(text)) as Partial<Record<'value' | 'error', unknown>>;
  if (answer.error === undefined) return answer.value;
  const { name, message, code } = Object(answer.error) as Partial<Record<keyof ErrorInfo, unknown>>;
  throw errorOf({ name: String(name), message: String(message), ...(typeof code === 'string' && { code }) });
}

/** Returns the answer to a call that failed. */
function failedAnswer(error: unknown): Answer {
  return { error: errorInfo(error) };
}

function decode(text: string): unknown {
  return JSON.parse(text, (_, each) => {
    const entries: unknown = each !== null && typeof each === 'object' ? each[mapTag] : undefined;
    return Array.isArray(entries) ? new Map(entries) : each;
  });
}

/** Call that waits for its answer. */
interface Call {
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
