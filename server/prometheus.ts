import { InvalidOptionError } from './errors.js';
import type { Hub } from './hub/hub.js';
import { parseDescription } from './hub/introspection/hub-description.js';
import { OptionChecker } from './options.js';
import { workflowType } from './transports/delivery.js';
import { durationBoundsMs } from './transports/statistics/durations.js';
import type { CounterOf, Counts, DurationCounts, TypeDurations } from './transports/statistics/stats.js';
import type { TypeCounts } from './transports/transport.js';

/** Options of {@link prometheus}. */
export interface PrometheusOptions {
  /**
   * Maximum number of event types and workflows with metrics: those that the first reads find. Each has about 40 time
   * series, and 12 per service. `hubline_omitted_names` counts the others.
   * @default 500
   */
  maxNames?: number;
}

/** Metrics of a hub in the text format of Prometheus. Result of {@link prometheus}. */
export interface PrometheusMetrics {
  /** Value of the response's header `Content-Type`. */
  readonly contentType: string;
  /** Reads all metrics, as text. Rejects if the transport cannot be read: answer with a status of 500 or more. */
  read(): Promise<string>;
}

/** Event type or workflow. */
interface Name {
  readonly kind: 'event' | 'workflow';
  readonly name: string;
}

interface Metrics extends Name {
  readonly counts: TypeCounts;
  readonly durations: TypeDurations;
}

const boundsInSeconds = durationBoundsMs.map((ms) => ms / 1_000);

const counters: Readonly<Record<CounterOf<'stored'>, string>> = {
  received: 'Accepted events and runs',
  completed: 'Events and runs that completed',
  filtered: 'Events and runs that the when of their handler or trigger refused',
  failed: 'Events and runs that failed after their last attempt, or were cancelled',
  cancelled: 'Events and runs that were cancelled',
  retried: 'Failed attempts that are retried',
  deduplicated: 'Events that were not accepted because their id was known',
};

const gauges: Readonly<Record<Exclude<CounterOf<'live'>, 'deadLetters'>, string>> = {
  pending: 'Accepted events and runs without an outcome',
  active: 'Handlers that are running',
  delayed: 'Pending events and runs that wait for a delay or a retry',
  suspended: 'Pending runs that wait for time, an event or a child run',
};

/**
 * Creates the metrics of all hubs of a transport for Prometheus: counters, gauges and histograms per event type and
 * workflow. On Redis they cover all processes, so that one process is scraped; it may be a read-only hub.
 *
 * @example
 * ```ts
 * const metrics = prometheus(hub);
 * app.get('/metrics', async (_req, res) => res.type(metrics.contentType).send(await metrics.read()));
 * ```
 * @throws {InvalidOptionError} if `hub` is not a hub or an option is not valid
 */
export function prometheus(hub: Hub, options: PrometheusOptions = {}): PrometheusMetrics {
  if (typeof Object(hub).introspect !== 'function') throw new InvalidOptionError('hub of prometheus', 'a hub', hub);
  const check = new OptionChecker(options, ['maxNames'], 'prometheus');
  check.count('maxNames', options.maxNames);
  const names = new NameSelection(options.maxNames ?? 500);
  return {
    contentType: expositionType,
    async read() {
      const { hub: source, events, workflows } = await hub.introspect();
      const selected = names.select([
        ...events.map(({ type }): Name => ({ kind: 'event', name: type })),
        ...workflows.map(({ name }): Name => ({ kind: 'workflow', name })),
      ]);
      const types = selected.map(({ kind, name }) => (kind === 'event' ? name : workflowType(name)));
      const [counts, durations, descriptions] = await Promise.all([
        hub.transport.counts.get(types),
        hub.transport.counts.durations(types),
        hub.transport.fleet.registered(),
      ]);
      const metrics = selected.flatMap((name, index): Metrics[] => {
        const [nameCounts, nameDurations] = [counts[index], durations[index]];
        if (nameCounts === undefined || nameDurations === undefined) return [];
        return [{ ...name, counts: nameCounts, durations: nameDurations }];
      });
      const text = new Exposition();
      const { version, transport } = source;
      text.add('gauge', 'hubline_info', 'Version and transport of the hub that was read', [
        { labels: { version, transport }, value: 1 },
      ]);
      addCounts(text, metrics, hub.transport.clock.now());
      addDurations(text, metrics);
      text.add('gauge', 'hubline_processes', 'Running hubs', countProcesses(descriptions));
      text.add('gauge', 'hubline_omitted_names', 'Event types and workflows beyond maxNames', [
        { labels: {}, value: events.length + workflows.length - selected.length },
      ]);
      return text.toString();
    },
  };
}

/**
 * Bounded set of names. It keeps the names that it selected once: a counter that another one replaces from read to read
 * would show rates of neither.
 */
class NameSelection {
  readonly #max: number;
  readonly #selected = new Set<string>();

  constructor(max: number) {
    this.#max = max;
  }

  select(all: readonly Name[]): readonly Name[] {
    return all.filter(({ kind, name }) => {
      const key = `${kind} ${name}`;
      if (this.#selected.size < this.#max) this.#selected.add(key);
      return this.#selected.has(key);
    });
  }
}

function addCounts(text: Exposition, metrics: readonly Metrics[], now: number): void {
  const shares = metrics.flatMap(({ kind, name, counts: { services } }) =>
    services.map(({ service, counts }) => ({ labels: { service, kind, name }, counts })),
  );
  const samples = (read: (counts: Counts) => number): Sample[] =>
    shares.map(({ labels, counts }) => ({ labels, value: read(counts) }));
  for (const [name, help] of entriesOf(counters)) {
    const values = samples((counts) => counts[name]);
    text.add('counter', `hubline_${name}_total`, help, values);
  }
  for (const [name, help] of entriesOf(gauges)) {
    const values = samples((counts) => counts[name]);
    text.add('gauge', `hubline_${name}`, help, values);
  }
  const oldest = samples(({ oldestPendingAt = now }) => Math.max(0, now - oldestPendingAt) / 1_000);
  text.add('gauge', 'hubline_oldest_pending_seconds', 'Age of the oldest pending event or run; 0 without one', oldest);
  const deadLetters = samples((counts) => counts.deadLetters);
  text.add('gauge', 'hubline_dead_letters', 'Dead letters that are neither replayed nor evicted', deadLetters);
}

function addDurations(text: Exposition, metrics: readonly Metrics[]): void {
  const samples = (read: (durations: TypeDurations) => DurationCounts): HistogramSample[] =>
    metrics.map(({ kind, name, durations }) => {
      const { counts, sumMs } = read(durations);
      return { labels: { kind, name }, counts, sum: sumMs / 1_000 };
    });
  const waits = samples(({ waitMs }) => waitMs);
  text.addHistogram('hubline_wait_seconds', 'Time from acceptance to the first attempt', boundsInSeconds, waits);
  const runs = samples(({ durationMs }) => durationMs);
  text.addHistogram('hubline_run_seconds', 'Duration of attempts', boundsInSeconds, runs);
}

function countProcesses(descriptions: readonly string[]): Sample[] {
  const processes = new Map<string, number>();
  for (const description of descriptions) {
    const { service, isStopped } = parseDescription(description);
    if (isStopped !== true) processes.set(service, (processes.get(service) ?? 0) + 1);
  }
  return [...processes]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([service, value]) => ({ labels: { service }, value }));
}

function entriesOf<T extends string>(record: Readonly<Record<T, string>>): [T, string][] {
  // `Object.entries` widens the names.
  return Object.entries(record) as [T, string][];
}

/** Labels of a sample. */
export type Labels = Readonly<Record<string, string>>;

/** Value of one time series. */
interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

/** Counts of one histogram. */
interface HistogramSample {
  readonly labels: Labels;
  /** Number of values per bound, not cumulative, and last the number of those above all bounds. */
  readonly counts: readonly number[];
  readonly sum: number;
}

/** Media type of the text that {@link Exposition} writes. */
const expositionType = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * Text in the exposition format of Prometheus.
 *
 * @see https://prometheus.io/docs/instrumenting/exposition_formats/
 */
class Exposition {
  readonly #lines: string[] = [];

  /** Adds a counter or a gauge, unless it has no samples. */
  add(type: 'counter' | 'gauge', name: string, help: string, samples: readonly Sample[]): void {
    if (samples.length === 0) return;
    this.#addHead(type, name, help);
    for (const { labels, value } of samples) this.#addSample(name, labels, value);
  }

  /** Adds a histogram, unless it has no samples. @param bounds upper bounds, ascending */
  addHistogram(name: string, help: string, bounds: readonly number[], samples: readonly HistogramSample[]): void {
    if (samples.length === 0) return;
    this.#addHead('histogram', name, help);
    for (const { labels, counts, sum } of samples) {
      let total = 0;
      for (const [index, count] of counts.entries()) {
        total += count;
        this.#addSample(`${name}_bucket`, { ...labels, le: String(bounds[index] ?? '+Inf') }, total);
      }
      this.#addSample(`${name}_sum`, labels, sum);
      this.#addSample(`${name}_count`, labels, total);
    }
  }

  toString(): string {
    return `${this.#lines.join('\n')}\n`;
  }

  #addHead(type: string, name: string, help: string): void {
    this.#lines.push(
      `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`,
      `# TYPE ${name} ${type}`,
    );
  }

  #addSample(name: string, labels: Labels, value: number): void {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
    this.#lines.push(`${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}`);
  }
}

function escapeLabel(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
