import { OptionChecker } from '../../options.js';
import type { Redactor } from '../../redaction.js';
import { workflowOf } from '../../transports/delivery.js';
import type { OpenWait, RunRecord } from '../../transports/event-record.js';
import type { EventLookup, RunStore } from '../../transports/transport.js';
import { UnknownRunError } from '../errors.js';
import {
  introspectEntry,
  introspectRun,
  introspectWait,
  type ListedStep,
  type RunIntrospection,
  type StepIntrospection,
} from './run-introspection.js';
import type { RunServices } from './workflow-handle.js';

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
  /** Service of the runs. @default the hub's */
  readonly service?: string;
}

/** Hub that watches a run. */
export interface WatchHost {
  readonly runs: RunStore;
  readonly redactor: Redactor;
  readonly lookup: Pick<EventLookup, 'find'>;
  readonly services: Pick<RunServices, 'describe'>;
  /** Types of the runs that the hub runs, or has started or awaited elsewhere. */
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
  const { type, listed, service } = await findSource(id, host, signal);
  const changes = new Changes();
  // Registered first: a run that ends meanwhile may be evicted at once.
  const end = runs.ended(type, id, signal, service).then(
    (record) => changes.end({ record }),
    (error: unknown) => changes.end({ error }),
  );
  let unwatch: () => void = () => {};
  const reader = new EntryReader(id, redactor);
  try {
    unwatch = await runs.watch(type, id, () => changes.add(), service);
    for (;;) {
      await changes.next();
      const { ended } = changes;
      if (ended === undefined) {
        const record = await runs.getSince(type, id, reader.position, service);
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
export async function findSource(id: string, host: WatchHost, signal: AbortSignal): Promise<WatchedType> {
  const { runs, sources } = host;
  const find = async (
    read: (source: WatchedType) => Promise<RunRecord | undefined>,
  ): Promise<WatchedType | undefined> => {
    const found = await Promise.all(sources.map(async (source) => ((await read(source)) ? source : undefined)));
    return found.find((candidate) => candidate !== undefined);
  };
  const source =
    (await find(({ type, service }) => runs.getSince(type, id, noEntries, service))) ??
    (await findElsewhere(id, host)) ??
    // The transport may hold the end of a run that it does not retain, for those who have just started the run.
    (await find(({ type, service }) => runs.ended(type, id, signal, service)));
  if (source === undefined) throw new UnknownRunError(undefined, id);
  return source;
}

/** Returns the type of a run of any service. */
async function findElsewhere(
  id: string,
  { lookup, services }: Pick<WatchHost, 'lookup' | 'services'>,
): Promise<WatchedType | undefined> {
  const event = (await lookup.find(id)).find(({ run }) => run !== undefined);
  if (event === undefined) return undefined;
  const { type, service } = event;
  const workflow = workflowOf(type);
  const description = workflow === undefined ? undefined : await services.describe(workflow, service);
  return { type, service, listed: description?.steps ?? [] };
}

/** Position after the entries of every run. */
const noEntries = 1_000_000_000;

type Ended = { readonly record: RunRecord | undefined } | { readonly error: unknown };

/** Flag that the run has changed since the last read. */
export class Changes<TEnded = Ended> {
  ended: TEnded | undefined;
  // The first read needs no change.
  #isChanged = true;
  #wake: () => void = () => {};

  add(): void {
    this.#isChanged = true;
    this.#wake();
  }

  end(ended: TEnded): void {
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
