import type {
  Attributes,
  Context,
  Counter,
  Histogram,
  Link,
  Meter,
  MeterProvider,
  ObservableGauge,
  Span,
  SpanKind,
} from '@opentelemetry/api';
import { type ErrorInfo, messageOf } from './errors.js';
import { publicErrorInfo } from './redaction.js';
import { stackFrames } from './stack.js';
import { version } from './version.js';

/** Exports of `@opentelemetry/api`. */
export type OpenTelemetryApi = typeof import('@opentelemetry/api');

// Every 1.x copy of the API stores the application's providers under this symbol.
const registry = Symbol.for('opentelemetry.js.api.1');

let api: OpenTelemetryApi | undefined;
let loading: Promise<void> | undefined;
let hasLoaded = false;

/**
 * Returns the OpenTelemetry API if the application has registered an SDK, otherwise `undefined`. The check takes
 * nanoseconds. The API is an optional peer that takes as long to load as all of Hubline, so it is loaded only then.
 */
export function openTelemetry(): OpenTelemetryApi | undefined {
  if (!(registry in globalThis)) return undefined;
  if (!hasLoaded) void loadOpenTelemetry();
  return api;
}

/** Loads the API for {@link openTelemetry}. Returns `undefined` if there is nothing to load. Never rejects. */
export function loadOpenTelemetry(): Promise<void> | undefined {
  if (hasLoaded || !(registry in globalThis)) return undefined;
  loading ??= load();
  return loading;
}

async function load(): Promise<void> {
  try {
    api = await import('@opentelemetry/api');
  } catch (error) {
    process.emitWarning(
      `an OpenTelemetry SDK is registered, but hubline cannot report to it: ${messageOf(error)}; npm install @opentelemetry/api`,
    );
  } finally {
    hasLoaded = true;
  }
}

/** Metric instruments. Names, units and buckets follow the semantic conventions if these define the metric. */
export interface Instruments {
  readonly meter: Meter;
  readonly sent: Counter;
  readonly consumed: Counter;
  readonly completed: Counter;
  readonly failed: Counter;
  readonly retried: Counter;
  readonly pending: ObservableGauge;
  readonly active: ObservableGauge;
  readonly sendDuration: Histogram;
  readonly processDuration: Histogram;
  readonly stepDuration: Histogram;
  readonly genAiDuration: Histogram;
  readonly tokens: Histogram;
}

const messagingSeconds = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const genAiSeconds = Array.from({ length: 14 }, (_, index) => 0.01 * 2 ** index);
const tokenCounts = Array.from({ length: 14 }, (_, index) => 4 ** index);

const cache = new WeakMap<MeterProvider, Instruments>();

/** Returns the instruments of the application's meter provider. Creates them once per provider. */
export function instruments({ metrics }: OpenTelemetryApi): Instruments {
  const provider = metrics.getMeterProvider();
  let found = cache.get(provider);
  if (found === undefined) {
    found = createInstruments(provider.getMeter('hubline', version));
    cache.set(provider, found);
  }
  return found;
}

function createInstruments(meter: Meter): Instruments {
  const counter = (name: string, unit: string, description: string): Counter =>
    meter.createCounter(name, { unit, description });
  const gauge = (name: string, description: string): ObservableGauge =>
    meter.createObservableGauge(name, { unit: '{event}', description });
  const histogram = (name: string, unit: string, description: string, buckets: number[]): Histogram =>
    meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries: buckets } });
  return {
    meter,
    sent: counter('messaging.client.sent.messages', '{message}', 'Events sent, follow-ups included'),
    consumed: counter('messaging.client.consumed.messages', '{message}', 'Attempts started'),
    completed: counter('hubline.events.completed', '{event}', 'Events that completed'),
    failed: counter('hubline.events.failed', '{event}', 'Events that failed terminally'),
    retried: counter('hubline.events.retried', '{event}', 'Failed attempts that are retried'),
    pending: gauge('hubline.events.pending', 'Events of the service that have been accepted and have not ended'),
    active: gauge('hubline.events.active', 'Events of the service whose handler runs'),
    sendDuration: histogram('messaging.client.operation.duration', 's', 'Duration of sending', messagingSeconds),
    processDuration: histogram('messaging.process.duration', 's', 'Duration of attempts', messagingSeconds),
    stepDuration: histogram('hubline.step.duration', 's', 'Duration of attempts at workflow steps', messagingSeconds),
    genAiDuration: histogram('gen_ai.client.operation.duration', 's', 'GenAI operation duration', genAiSeconds),
    tokens: histogram('gen_ai.client.token.usage', '{token}', 'Tokens of model calls', tokenCounts),
  };
}

/** Name, attributes and metric of an {@link Operation}. */
export interface OperationDetails {
  readonly name: string;
  readonly kind: SpanKind;
  /** Attributes of the span and the metric. Each has few distinct values. */
  readonly dimensions: Attributes;
  /** Attributes of the span only. */
  readonly attributes: Attributes;
  /** Parent context of the span. @default the active context */
  readonly parent?: Context;
  readonly links?: Link[];
  /** Histogram that records the duration, in seconds. */
  readonly histogram: Histogram;
  /**
   * Returns the name and message of an error as spans show them, for this operation and those inside it.
   * @default that of the surrounding operation, else {@link publicErrorInfo}
   */
  readonly errorInfo?: ErrorInfoOf;
}

type ErrorInfoOf = (thrown: unknown) => ErrorInfo;

const errorInfoKey = Symbol.for('hubline.error-info');

// Some names are chosen by models and callers.
const maxNameLength = 256;

/** Observed operation: a span, and a metric of its duration. */
export class Operation {
  /** Context in which the span is active. */
  readonly context: Context;
  /** Attributes of the metric: the dimensions, and the error type if the operation failed. */
  dimensions: Attributes;
  readonly #api: OpenTelemetryApi;
  readonly #span: Span;
  readonly #histogram: Histogram;
  readonly #errorInfo: ErrorInfoOf;
  readonly #startedAt: number = performance.now();
  #hasEnded = false;

  private constructor(api: OpenTelemetryApi, details: OperationDetails) {
    const { name, kind, dimensions, attributes, parent = api.context.active(), links, histogram } = details;
    const tracer = api.trace.getTracer('hubline', version);
    const options = { kind, attributes: { ...dimensions, ...attributes }, ...(links && { links }) };
    this.#span = tracer.startSpan(name.slice(0, maxNameLength), options, parent);
    // Only operations set this value.
    const inherited = parent.getValue(errorInfoKey) as ErrorInfoOf | undefined;
    this.#errorInfo = details.errorInfo ?? inherited ?? publicErrorInfo;
    this.context = api.trace.setSpan(parent, this.#span).setValue(errorInfoKey, this.#errorInfo);
    this.dimensions = dimensions;
    this.#api = api;
    this.#histogram = histogram;
  }

  /** Starts an operation. Returns `undefined` if the SDK throws. */
  static start(api: OpenTelemetryApi, details: OperationDetails): Operation | undefined {
    return guarded(() => new Operation(api, details));
  }

  /** Calls `work` with the span active, so that spans it starts are children. */
  run<T>(work: () => T): T {
    return this.#api.context.with(this.context, work);
  }

  /** Calls `work` and ends the operation when it settles. */
  async measure<T>(work: () => T | PromiseLike<T>, onResult?: (result: T) => void): Promise<T> {
    try {
      const result = await this.run(work);
      onResult?.(result);
      return result;
    } catch (error) {
      this.fail(error);
      throw error;
    } finally {
      this.end();
    }
  }

  /**
   * Returns the trace context in the format of the application's propagator, for another process. Without baggage: it
   * may contain personal data, and a transport would store it.
   */
  carrier(): Record<string, string> {
    const carrier: Record<string, string> = {};
    guarded(() => this.#api.propagation.inject(this.#api.propagation.deleteBaggage(this.context), carrier));
    return carrier;
  }

  set(attributes: Attributes): void {
    guarded(() => this.#span.setAttributes(attributes));
  }

  /** Marks the operation as failed. A shutdown is not a failure: the event was released and runs again. */
  fail(thrown: unknown): void {
    if (this.#hasEnded) return;
    const { name, message, code } = this.#errorInfo(thrown);
    if (code === 'ERR_SHUTDOWN') {
      this.set({ 'hubline.released': true });
      return;
    }
    this.dimensions = { ...this.dimensions, 'error.type': name };
    guarded(() => {
      const frames = thrown instanceof Error ? stackFrames(thrown) : '';
      const stack = `${name}: ${message}\n${frames}`;
      this.#span.recordException({ name, message, ...(frames !== '' && { stack }) });
      this.#span.setAttribute('error.type', name);
      this.#span.setStatus({ code: this.#api.SpanStatusCode.ERROR, message });
    });
  }

  /** Ends the operation. Later calls have no effect. */
  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    guarded(() => {
      this.#span.end();
      this.#histogram.record((performance.now() - this.#startedAt) / 1000, this.dimensions, this.context);
    });
  }
}

/** Calls the SDK. The application's samplers and processors may throw, which must not fail the observed work. */
function guarded<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch (error) {
    process.emitWarning(`OpenTelemetry threw: ${messageOf(error)}`);
    return undefined;
  }
}
