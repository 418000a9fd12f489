import { setTimeout as delay } from 'node:timers/promises';
import { quote } from '../../../errors.js';
import type { Clock } from '../../clock.js';
import { TransportUnavailableError } from '../../errors.js';
import type { Logger } from '../../logger.js';
import { decodeAnswer, encodeCall } from '../calls/call-codec.js';
import {
  executeCall,
  isChange,
  type MethodArguments,
  type MethodName,
  type MethodResult,
} from '../calls/call-methods.js';
import { CallTable } from '../calls/call-table.js';
import { isBusy } from '../database/file-lock.js';
import { type ObservedDatabase, openObserved } from '../database/open-observed.js';
import { FileAccessError, FileInUseError } from '../sqlite-errors.js';
import { noLimits, openStore } from '../sqlite-store.js';
import { FileSnapshot } from './snapshot.js';

/** Settings of a {@link FileLink}. */
export interface LinkSettings {
  readonly file: string;
  readonly timeoutMs: number;
  readonly clock: Clock;
}

const firstPollMs = 2;
const maxPollMs = 50;
const presenceIntervalMs = 500;

/** Open connection for calls. */
interface Connection {
  readonly observed: ObservedDatabase;
  readonly table: CallTable;
}

/**
 * Way of one service to the state of a file: calls to the process that owns the file. If none does, reads come from the
 * file, and a change owns the file for its duration.
 */
export class FileLink {
  readonly #settings: LinkSettings;
  readonly #service: string;
  readonly #logger: Logger;
  readonly #snapshot: FileSnapshot;
  #connection: Promise<Connection> | undefined;

  constructor(settings: LinkSettings, service: string, logger: Logger) {
    this.#settings = settings;
    this.#service = service;
    this.#logger = logger;
    this.#snapshot = new FileSnapshot(settings.file, service, settings.clock);
  }

  /**
   * Executes an operation.
   *
   * @throws {TransportUnavailableError} if the owner does not answer in time
   * @throws {FileAccessError | CorruptFileError | NewerFileError | OlderFileError} if the file cannot be used
   */
  async call<N extends MethodName>(method: N, ...args: MethodArguments<N>): Promise<MethodResult<N>> {
    // As JSON it would be `null`.
    const given = args.slice(0, args.findLastIndex((arg) => arg !== undefined) + 1);
    // The answer is the result of the operation: see `executeCall`.
    return (await this.#call(method, given)) as MethodResult<N>;
  }

  /** Opens the file. @throws as {@link call} */
  async open(): Promise<void> {
    await this.#connect();
  }

  async close(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    (await connection?.catch(() => undefined))?.observed.close();
    await this.#snapshot.close();
  }

  async #call(method: MethodName, args: readonly unknown[]): Promise<unknown> {
    for (;;) {
      const connection = await this.#connect();
      if (connection.observed.isOwned()) {
        await this.#snapshot.close();
        const answer = await this.#ask(connection, method, args);
        if (answer !== undefined) return decodeAnswer(answer);
      } else if (isChange(method)) {
        try {
          return await this.#own(method, args);
        } catch (error) {
          // Its owner has just started.
          if (!(error instanceof FileInUseError)) throw error;
        }
      } else {
        return await this.#snapshot.read((target) => executeCall(target, method, args));
      }
    }
  }

  /** Returns the answer of the process that owns the file; `undefined` if it ended before it took the call. */
  async #ask({ observed, table }: Connection, method: string, args: readonly unknown[]): Promise<string | undefined> {
    const deadline = Date.now() + this.#settings.timeoutMs;
    const call = { service: this.#service, method, args: encodeCall(args), deadline };
    let id = this.#unlessBusy(() => table.add(call));
    while (id === undefined) {
      if (Date.now() > deadline) throw this.#unanswered('nothing was changed');
      await delay(maxPollMs);
      if (!observed.isOwned()) return undefined;
      id = this.#unlessBusy(() => table.add(call));
    }
    const added = id;
    const withdraw = (): boolean => this.#unlessBusy(() => table.withdraw(added)) ?? false;
    let pollMs = firstPollMs;
    let lookAt = Date.now() + presenceIntervalMs;
    for (;;) {
      await delay(pollMs);
      const answer = this.#unlessBusy(() => table.answerTo(added));
      if (answer !== undefined) {
        // The owner deletes an answer that stays.
        this.#unlessBusy(() => table.remove(added));
        return answer;
      }
      pollMs = Math.min(pollMs * 1.5, maxPollMs);
      const now = Date.now();
      if (now > lookAt) {
        lookAt = now + presenceIntervalMs;
        if (!observed.isOwned() && withdraw()) return undefined;
      }
      if (now > deadline) {
        throw this.#unanswered(
          withdraw() ? 'nothing was changed' : 'it may change the state later; read it before a retry',
        );
      }
    }
  }

  /** Owns the file for one operation. */
  async #own(method: string, args: readonly unknown[]): Promise<unknown> {
    const { file, clock } = this.#settings;
    const settings = { ...noLimits, file, clock, synchronous: 'full', codec: undefined } as const;
    const store = await openStore(settings, this.#logger);
    try {
      const { broker, kv } = store;
      const manager = store.connect(this.#service);
      return await executeCall({ broker, kv, manager, descriptions: () => [] }, method, args);
    } finally {
      await store.close();
    }
  }

  async #connect(): Promise<Connection> {
    const known = this.#connection;
    // A backup may have taken the place of the file.
    if (known !== undefined && (await known.catch(() => undefined))?.observed.isPresent() !== true) {
      if (this.#connection === known) await this.close();
    }
    this.#connection ??= this.#open();
    const connection = this.#connection;
    try {
      return await connection;
    } catch (error) {
      if (this.#connection === connection) this.#connection = undefined;
      throw error;
    }
  }

  async #open(): Promise<Connection> {
    const observed = await openObserved(this.#settings.file, { readOnly: false });
    return { observed, table: new CallTable(observed.database) };
  }

  #unanswered(advice: string): TransportUnavailableError {
    const { file, timeoutMs } = this.#settings;
    const problem = `the process that owns ${quote(file)} did not answer within ${timeoutMs} ms`;
    return new TransportUnavailableError(problem, undefined, advice);
  }

  /** Returns `undefined` if another process writes for longer than SQLite waits: its disk, or its processor, is slow. */
  #unlessBusy<T>(use: () => T): T | undefined {
    try {
      return use();
    } catch (error) {
      if (isBusy(error)) return undefined;
      throw new FileAccessError(this.#settings.file, error);
    }
  }
}
