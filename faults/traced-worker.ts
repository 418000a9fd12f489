/** Worker process with its own OpenTelemetry SDK, which sends its ended spans to the parent process. */
import { context, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { BasicTracerProvider, type ReadableSpan, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { createHub, createWorkflow } from 'hubline';
import { redisTransport } from 'hubline/redis';

/** Span that a worker sends. */
export interface TracedSpan {
  readonly name: string;
  readonly pid: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | undefined;
}

export function toTracedSpan(span: ReadableSpan): TracedSpan {
  const { traceId, spanId } = span.spanContext();
  return { name: span.name, pid: process.pid, traceId, spanId, parentId: span.parentSpanContext?.spanId };
}

const [, , role, url = '', prefix = ''] = process.argv;
if (role === 'shop' || role === 'mail') await work(role);

async function work(service: 'shop' | 'mail'): Promise<void> {
  const exporter = {
    export(spans: ReadableSpan[], done: (result: { code: number }) => void): void {
      for (const span of spans) process.send?.(toTracedSpan(span));
      done({ code: 0 });
    },
    shutdown: async (): Promise<void> => {},
  };
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  // The parent process is gone, so nothing else would end this one.
  process.on('disconnect', () => process.exit(1));

  const hub = createHub({ service, transport: redisTransport({ url, prefix }) });
  if (service === 'shop') {
    hub.event({
      type: 'ordered',
      retry: { maxAttempts: 2, initialDelayMs: 1 },
      onSuccess: 'billed',
      handler({ attempt }) {
        if (attempt === 1) throw new Error('flaky');
      },
    });
    hub.event({ type: 'billed' });
  } else {
    hub.event({ type: 'billed' });
    hub.workflow(createWorkflow({ name: 'thank', trigger: 'billed', steps: [{ name: 'write', handler: () => {} }] }));
  }
  await hub.start();
  process.send?.('ready');
}
