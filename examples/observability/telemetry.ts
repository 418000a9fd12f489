/** Registers an OpenTelemetry SDK before the application runs: `node --import ./telemetry.js app.js`. */
import { context, metrics, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { ConsoleMetricExporter, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, BatchSpanProcessor, ConsoleSpanExporter } from '@opentelemetry/sdk-trace-base';

const tracerProvider = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(new ConsoleSpanExporter())] });
const reader = new PeriodicExportingMetricReader({ exporter: new ConsoleMetricExporter() });
const meterProvider = new MeterProvider({ readers: [reader] });

trace.setGlobalTracerProvider(tracerProvider);
metrics.setGlobalMeterProvider(meterProvider);
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
propagation.setGlobalPropagator(new W3CTraceContextPropagator());

/** Exports all pending spans and metrics. */
export async function flushTelemetry(): Promise<void> {
  await Promise.all([tracerProvider.shutdown(), meterProvider.shutdown()]);
}
