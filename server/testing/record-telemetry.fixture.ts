import { inspect } from 'node:util';
import { type Attributes, context, metrics, propagation, type SpanKind, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core';
import { type DataPoint, type Histogram, MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { onTestFinished } from 'vitest';

/** Spans and metrics that an SDK received. */
export interface RecordedTelemetry {
  /** Ended spans, in the order of their end. */
  readonly spans: readonly ReadableSpan[];
  /** Returns the only span of this name. @throws {Error} if there is none or more than one */
  span(name: string): ReadableSpan;
  /** Returns the span names as an indented tree, in the order of their start. */
  tree(): string[];
  /** Collects the points of a metric. */
  points(metric: string): Promise<readonly Point[]>;
  /** Returns all that an exporter would send: spans and metrics. */
  exported(): Promise<string>;
}

/** Data point of a metric. A histogram has a count and a sum. */
export interface Point {
  readonly attributes: Attributes;
  readonly value: number | { readonly count: number; readonly sum: number };
}

/** Order in which spans start. Their times have a resolution of a millisecond, and follow a clock that may be set. */
class StartOrder implements SpanProcessor {
  readonly #places = new Map<string, number>();

  onStart(span: ReadableSpan): void {
    this.#places.set(span.spanContext().spanId, this.#places.size);
  }

  onEnd(): void {}
  async forceFlush(): Promise<void> {}
  async shutdown(): Promise<void> {}

  sort(spans: readonly ReadableSpan[]): readonly ReadableSpan[] {
    const placeOf = (span: ReadableSpan): number => this.#places.get(span.spanContext().spanId) ?? 0;
    return [...spans].sort((a, b) => placeOf(a) - placeOf(b));
  }
}

class OnDemandReader extends MetricReader {
  protected async onForceFlush(): Promise<void> {}
  protected async onShutdown(): Promise<void> {}
}

/** Registers an SDK as an application would. Removes it when the test ends. */
export function recordTelemetry(options: { sampler?: Sampler; processor?: SpanProcessor } = {}): RecordedTelemetry {
  const exporter = new InMemorySpanExporter();
  const reader = new OnDemandReader();
  const { sampler, processor = new SimpleSpanProcessor(exporter) } = options;
  const order = new StartOrder();
  const provider = new BasicTracerProvider({ spanProcessors: [order, processor], ...(sampler && { sampler }) });
  trace.setGlobalTracerProvider(provider);
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const propagators = [new W3CTraceContextPropagator(), new W3CBaggagePropagator()];
  propagation.setGlobalPropagator(new CompositePropagator({ propagators }));
  onTestFinished(() => {
    for (const api of [trace, metrics, context, propagation]) api.disable();
  });
  return {
    get spans() {
      return exporter.getFinishedSpans();
    },
    span(name) {
      const [found, another] = exporter.getFinishedSpans().filter((span) => span.name === name);
      if (found === undefined || another !== undefined) {
        throw new Error(`expected one span "${name}", got ${this.tree().join(', ')}`);
      }
      return found;
    },
    tree: () => drawTree(order.sort(exporter.getFinishedSpans())),
    async points(metric) {
      const { resourceMetrics } = await reader.collect();
      const found = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
      return found
        .filter(({ descriptor }) => descriptor.name === metric)
        .flatMap((data) => data.dataPoints.map(toPoint));
    },
    async exported() {
      const spans = exporter
        .getFinishedSpans()
        .map(({ name, attributes, events, links, status }) => ({ name, attributes, events, links, status }));
      const { scopeMetrics } = (await reader.collect()).resourceMetrics;
      return inspect([spans, scopeMetrics], { depth: 20, maxArrayLength: null });
    },
  };
}

/** Returns the name of a span's kind. */
export function kindOf(span: ReadableSpan): keyof typeof SpanKind | undefined {
  return kinds[span.kind];
}

const kinds: readonly (keyof typeof SpanKind)[] = ['INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'];

function toPoint({ attributes, value }: DataPoint<number | Pick<Histogram, 'count' | 'sum'>>): Point {
  return { attributes, value: typeof value === 'number' ? value : { count: value.count, sum: value.sum ?? 0 } };
}

function drawTree(byStart: readonly ReadableSpan[]): string[] {
  const draw = (span: ReadableSpan, depth: number): string[] => {
    const children = byStart.filter(({ parentSpanContext }) => parentSpanContext?.spanId === span.spanContext().spanId);
    return ['  '.repeat(depth) + span.name, ...children.flatMap((child) => draw(child, depth + 1))];
  };
  const ids = new Set(byStart.map((span) => span.spanContext().spanId));
  const roots = byStart.filter(({ parentSpanContext: parent }) => parent === undefined || !ids.has(parent.spanId));
  return roots.flatMap((root) => draw(root, 0));
}
