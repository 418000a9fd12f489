import type { Attributes, Context, Histogram, Link, Span, SpanKind } from '@opentelemetry/api';
import { errorInfo, messageOf } from '../errors.js';
import { version } from '../version.js';
import type { OpenTelemetryApi } from './open-telemetry.js';

/** What an {@link Operation} is. */
export interface OperationDetails {
  readonly name: string;
  readonly kind: SpanKind;
  /** What the span and the metric say: of few values each. */
  readonly dimensions: Attributes;
  /** What the span alone says. */
  readonly attributes: Attributes;
  /** @default the active context */
  readonly parent?: Context;
  readonly links?: Link[];
  /** Gets the duration, in seconds. */
  readonly histogram: Histogram;
}

/** A piece of work that is observed: a span, and its duration as a metric. */
export class Operation {
  /** With the span active. */
  readonly context: Context;
  /** What the metric says: the dimensions, and the error type of one that failed. */
  dimensions: Attributes;
  readonly #api: OpenTelemetryApi;
  readonly #span: Span;
  readonly #histogram: Histogram;
  readonly #startedAt: number = performance.now();
  #hasEnded = false;

  private constructor(api: OpenTelemetryApi, details: OperationDetails) {
    const { name, kind, dimensions, attributes, parent = api.context.active(), links, histogram } = details;
    const tracer = api.trace.getTracer('hubline', version);
    const options = { kind, attributes: { ...dimensions, ...attributes }, ...(links && { links }) };
    this.#span = tracer.startSpan(name, options, parent);
    this.context = api.trace.setSpan(parent, this.#span);
    this.dimensions = dimensions;
    this.#api = api;
    this.#histogram = histogram;
  }

  /** @returns `undefined` where a part of the SDK throws */
  static start(api: OpenTelemetryApi, details: OperationDetails): Operation | undefined {
    return guarded(() => new Operation(api, details));
  }

  /** Calls `work` with the span active, so that what it starts nests. */
  run<T>(work: () => T): T {
    return this.#api.context.with(this.context, work);
  }

  /** Runs all of `work`, and ends with it. */
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

  /** What another process needs to go on with the trace, as the application's propagator writes it. */
  carrier(): Record<string, string> {
    const carrier: Record<string, string> = {};
    guarded(() => this.#api.propagation.inject(this.context, carrier));
    return carrier;
  }

  set(attributes: Attributes): void {
    guarded(() => this.#span.setAttributes(attributes));
  }

  /** Marks the operation as failed, unless it was only interrupted: work that is handed back goes on elsewhere. */
  fail(thrown: unknown): void {
    if (this.#hasEnded) return;
    const { name, message, code } = errorInfo(thrown);
    if (code === 'ERR_SHUTDOWN') {
      this.set({ 'hubline.released': true });
      return;
    }
    this.dimensions = { ...this.dimensions, 'error.type': name };
    guarded(() => {
      const stack = thrown instanceof Error ? thrown.stack : undefined;
      this.#span.recordException({ name, message, ...(stack !== undefined && { stack }) });
      this.#span.setAttribute('error.type', name);
      this.#span.setStatus({ code: this.#api.SpanStatusCode.ERROR, message });
    });
  }

  /** Ends it, the first time. */
  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    guarded(() => {
      this.#span.end();
      this.#histogram.record((performance.now() - this.#startedAt) / 1000, this.dimensions, this.context);
    });
  }
}

/** Samplers and processors are the application's, and may throw: that must not fail what they look at. */
function guarded<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch (error) {
    process.emitWarning(`OpenTelemetry threw: ${messageOf(error)}`);
    return undefined;
  }
}
