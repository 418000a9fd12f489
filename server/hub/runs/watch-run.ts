import { OptionChecker } from '../../options.js';
import type { Redactor } from '../../redaction.js';
import type { OpenWait, RunRecord } from '../../transports/event-record.js';
import type { RunStore } from '../../transports/transport.js';
import { UnknownRunError } from '../errors.js';
import {
  introspectEntry,
  introspectRun,
  introspectWait,
  type ListedStep,
  type RunIntrospection,
  type StepIntrospection,
} from './run-introspection.js';

/** Event of a run that is watched. */
export type RunEvent =
  /** A step was recorded, an attempt at it failed, or it waits. Contains no result. */
  | { readonly type: 'step'; readonly runId: string; readonly step: StepIntrospection }
  /** The last event. */
  | { readonly type: 'run-end'; readonly runId: string; readonly run: RunIntrospection };

/** Options of `hub.watch`. */
export interface WatchOptions {
  /** Ends the loop, which throws the signal's reason. The run goes on. */
  signal?: AbortSignal;
}

/** Checks the options of `hub.watch`. @throws {InvalidOptionError} */
export function checkWatchOptions(options: WatchOptions): void {
  const check = new OptionChecker(options, ['signal'], 'watch');
  const { signal } = options;
  check.that(signal === undefined || signal instanceof AbortSignal, 'signal', 'an AbortSignal', signal);
}

/** Type whose runs can be watched. */
export interface WatchedType {
  readonly type: string;
  /** Steps of a workflow with a list of steps. */
  readonly listed: readonly ListedStep[];
}

/** Hub that watches a run. */
export interface WatchHost {
  readonly runs: RunStore;
  readonly redactor: Redactor;
  readonly sources: readonly WatchedType[];
  /** Aborts when the hub stops. */
  readonly stopped: AbortSignal;
}

/** Implements {@link Hub.watch}. Reads only what it has not yielded, and only when the loop asks for more. */
export async function* watchRun(
  id: string,
  host: WatchHost,
  options: WatchOptions,
): AsyncGenerator<RunEvent, void, void> {
  const { runs, redactor, stopped } = host;
  const stop = new AbortController();
  const signals = [stopped, stop.signal, options.signal].filter((signal) => signal !== undefined);
  const signal = AbortSignal.any(signals);
  const { type, listed } = await findSource(id, host, signal);
  const changes = new Changes();
  // Registered first: a run that ends meanwhile may be evicted at once.
  const end = runs.ended(type, id, signal).then(
    (record) => changes.end({ record }),
    (error: unknown) => changes.end({ error }),
  );
  let unwatch: () => void = () => {};
  const reader = new EntryReader(id, redactor);
  try {
    unwatch = await runs.watch(type, id, () => changes.add());
    for (;;) {
      await changes.next();
      const { ended } = changes;
      if (ended === undefined) {
        const record = await runs.getSince(type, id, reader.position);
        if (record !== undefined)
          yield* reader.read(record.checkpoints, record.endedAt === undefined ? record.waits : []);
        continue;
      }
      if ('error' in ended) throw ended.error;
      if (ended.record === undefined) throw new UnknownRunError(undefined, id);
      yield* reader.read(new Map([...ended.record.checkpoints].slice(reader.position)), []);
      yield { type: 'run-end', runId: id, run: introspectRun(listed, ended.record, redactor) };
      return;
    }
  } finally {
    unwatch();
    stop.abort();
    await end;
  }
}

/** Returns the type of a run. Its id does not tell. @throws {UnknownRunError} */
async function findSource(id: string, { runs, sources }: WatchHost, signal: AbortSignal): Promise<WatchedType> {
  const find = async (read: (type: string) => Promise<RunRecord | undefined>): Promise<WatchedType | undefined> => {
    const found = await Promise.all(sources.map(async (source) => ((await read(source.type)) ? source : undefined)));
    return found.find((candidate) => candidate !== undefined);
  };
  const source =
    (await find((type) => runs.getSince(type, id, noEntries))) ??
    // The transport may hold the end of a run that it does not retain, for those who have just started the run.
    (await find((type) => runs.ended(type, id, signal)));
  if (source === undefined) throw new UnknownRunError(undefined, id);
  return source;
}

/** Position after the entries of every run. */
const noEntries = 1_000_000_000;

type Ended = { readonly record: RunRecord | undefined } | { readonly error: unknown };

/** Flag that the run has changed since the last read. */
class Changes {
  ended: Ended | undefined;
  // The first read needs no change.
  #isChanged = true;
  #wake: () => void = () => {};

  add(): void {
    this.#isChanged = true;
    this.#wake();
  }

  end(ended: Ended): void {
    this.ended = ended;
    this.#wake();
  }

  /** Resolves as soon as there is something to read. */
  async next(): Promise<void> {
    if (!this.#isChanged && this.ended === undefined) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#isChanged = false;
  }
}

/** Converts entries and waits of a run into events, each once. */
class EntryReader {
  position = 0;
  readonly #runId: string;
  readonly #redactor: Redactor;
  readonly #waits = new Set<string>();

  constructor(runId: string, redactor: Redactor) {
    this.#runId = runId;
    this.#redactor = redactor;
  }

  *read(checkpoints: ReadonlyMap<string, string>, waits: readonly OpenWait[]): Iterable<RunEvent> {
    for (const [key, value] of checkpoints) {
      this.position += 1;
      this.#waits.delete(key);
      const step = introspectEntry(key, value);
      if (step !== undefined) yield this.#event(step);
    }
    for (const wait of waits) {
      const step = introspectWait(wait);
      // The failed attempt before a retry has an event already.
      if (this.#waits.has(wait.key) || step.status !== 'waiting') continue;
      this.#waits.add(wait.key);
      yield this.#event(step);
    }
  }

  #event(step: StepIntrospection): RunEvent {
    const { error } = step;
    const shown = error === undefined ? step : { ...step, error: this.#redactor.recorded(error) };
    return { type: 'step', runId: this.#runId, step: shown };
  }
}
