import { TransportUnavailableError } from '../../errors.js';
import type { Logger } from '../../logger.js';
import type { Commits } from '../commits.js';
import type { Database } from '../database/driver.js';
import { AnswerTooLargeError, reasonOf } from '../sqlite-errors.js';
import { type Answer, decodeArguments, encodeCall, failedAnswer } from './call-codec.js';
import { type CallTarget, executeCall, isChange } from './call-methods.js';
import { type Call, CallTable } from './call-table.js';

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
