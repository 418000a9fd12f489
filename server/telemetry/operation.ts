import type { Attributes, Context, Histogram, Link, Span, SpanKind } from '@opentelemetry/api';
import { type ErrorInfo, messageOf } from '../errors.js';
import { publicErrorInfo, stackFrames } from '../redaction/public-error.js';
import { version } from '../version.js';
import type { OpenTelemetryApi } from './open-telemetry.js';

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
