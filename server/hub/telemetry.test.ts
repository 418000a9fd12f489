import { context, propagation, type SpanContext, SpanStatusCode, trace } from '@opentelemetry/api';
import { AlwaysOffSampler } from '@opentelemetry/sdk-trace-base';
import { describe, expect, it, vi } from 'vitest';
import { FatalError } from '../errors.js';
import { kindOf, recordTelemetry } from '../testing/record-telemetry.fixture.js';
import { deferred, testHub } from './hub.fixture.js';
import { createWorkflow } from './runs/workflow.js';

const contextOf = (): SpanContext | undefined => trace.getActiveSpan()?.spanContext();

describe('spans', () => {
  it('an event has a PRODUCER span and a linked child CONSUMER span, in which the handler runs', async () => {
    const telemetry = recordTelemetry();
    const { hub } = testHub({ service: 'shop' });
    let active: SpanContext | undefined;
    hub.event({
      type: 'ordered',
      async handler() {
        await Promise.resolve();
        active = contextOf();
      },
    });
    await hub.start();
    const { id } = await hub.emit('ordered', { secret: 'of the customer' }, { requestId: 'request 1' });
    await vi.waitFor(() => expect(telemetry.tree()).toEqual(['send ordered', '  process ordered']));

    const [send, process] = [telemetry.span('send ordered'), telemetry.span('process ordered')];
    expect([kindOf(send), kindOf(process)]).toEqual(['PRODUCER', 'CONSUMER']);
    const both = {
      'messaging.system': 'hubline',
      'messaging.destination.name': 'ordered',
      'messaging.message.id': id,
      'messaging.message.conversation_id': 'request 1',
      'hubline.kind': 'event',
    };
    expect(send.attributes).toEqual({
      ...both,
      'messaging.operation.name': 'send',
      'messaging.operation.type': 'send',
    });
    expect(process.attributes).toEqual({
      ...both,
      'messaging.operation.name': 'process',
      'messaging.operation.type': 'process',
      'messaging.consumer.group.name': 'shop',
      'hubline.attempt': 1,
      'hubline.outcome': 'completed',
    });
    expect(process.links.map((link) => link.context.spanId)).toEqual([send.spanContext().spanId]);
    expect(process.status.code).toBe(SpanStatusCode.UNSET);
    expect(active).toEqual(process.spanContext());
    expect(send.instrumentationScope.name).toBe('hubline');
  });

  it('a send span is a child of the active span, or of the span of the emitting handler', async () => {
    const telemetry = recordTelemetry();
    const { hub } = testHub();
    hub.event({ type: 'ordered', handler: ({ emit }) => emit('billed', null), onSuccess: 'thanked' });
    hub.event({ type: 'billed', handler: () => {} });
    hub.event({ type: 'thanked', handler: () => {}, onComplete: 'audited' });
    hub.event({ type: 'audited' });
    await hub.start();
    await trace.getTracer('app').startActiveSpan('POST /orders', async (span) => {
      await hub.emit('ordered', null);
      span.end();
    });
    await vi.waitFor(() =>
      expect(telemetry.tree()).toEqual([
        'POST /orders',
        '  send ordered',
        '    process ordered',
        '      send billed',
        '        process billed',
        '      send thanked',
        '        process thanked',
        '          send audited',
      ]),
    );
  });

  it('a handler does not run in the context of an unrelated emit', async () => {
    const telemetry = recordTelemetry();
    const { hub } = testHub({ concurrency: 1 });
    const release = deferred();
    const handled: unknown[] = [];
    hub.event({
      type: 'ordered',
      async handler({ payload }) {
        await release.promise;
        handled.push([payload, propagation.getActiveBaggage()?.getEntry('tenant')?.value]);
      },
    });
    await hub.start();
    for (const tenant of ['red', 'blue']) {
      const baggage = propagation.createBaggage({ tenant: { value: tenant } });
      await context.with(propagation.setBaggage(context.active(), baggage), () => hub.emit('ordered', tenant));
    }
    await hub.emit('ordered', 'none');
    release.resolve();
    await vi.waitFor(() => expect(handled).toHaveLength(3));
    expect(handled).toEqual([
      ['red', undefined],
      ['blue', undefined],
      ['none', undefined],
    ]);
    expect(new Set(telemetry.spans.map((span) => span.spanContext().traceId)).size).toBe(3);
  });

  it('an event does not store the baggage of its context', async () => {
    const telemetry = recordTelemetry();
    const { hub } = testHub();
    const publish = vi.spyOn(hub.transport, 'publish');
    hub.event({ type: 'ordered', handler: ({ emit }) => emit('billed', null) });
    hub.event({ type: 'billed', handler: () => {} });
    await hub.start();
    const baggage = propagation.createBaggage({ user: { value: 'alice@example.com' } });
    await context.with(propagation.setBaggage(context.active(), baggage), () => hub.emit('ordered', null));
    await vi.waitFor(() => expect(telemetry.tree().at(-1)).toBe('      process billed'));
    const stored = publish.mock.calls.flatMap(([envelopes]) => envelopes.map(({ trace: carrier }) => carrier));
    expect(stored).toEqual([{ traceparent: expect.any(String) }]);
  });

  it('an error in a span is redacted, with the hook of the hub', async () => {
    const telemetry = recordTelemetry();
    const redact = ({ name, message }: { name: string; message: string }): { name: string; message: string } => ({
      name,
      message: message.replace('4242', '[card]'),
    });
    const { hub } = testHub({ redact });
    hub.workflow(
      createWorkflow({
        name: 'pay',
        steps: [{ name: 'parse', handler: () => JSON.parse('{"card":"4242"'), retry: { maxAttempts: 1 } }],
      }),
    );
    hub.event({
      type: 'charged',
      handler: () => {
        throw new Error('card 4242 declined');
      },
    });
    await hub.start();
    await hub.emit('charged', null);
    await hub.startWorkflow('pay', null);
    await vi.waitFor(() => expect(telemetry.spans).toHaveLength(5));
    const told = JSON.stringify(telemetry.spans.map(({ status, events, attributes }) => [status, events, attributes]));
    expect(told).toContain('card [card] declined');
    expect(told).toContain('a text could not be parsed');
    expect(told).not.toContain('4242');
  });

  it('a failed attempt has its own span with the exception and status, under the same send span', async () => {
    const telemetry = recordTelemetry();
    const { hub, clock } = testHub();
    hub.event({
      type: 'charged',
      retry: { maxAttempts: 3, initialDelayMs: 1_000, jitter: false },
      onFailure: 'refused',
      handler({ attempt }) {
        if (attempt === 1) throw new RangeError('gateway away');
        throw new FatalError('card declined');
      },
    });
    hub.event({ type: 'refused' });
    await hub.start();
    await hub.emit('charged', null, { delayMs: 5_000 });
    await clock.advance(5_000);
    await clock.advance(1_000);
    await vi.waitFor(() =>
      expect(telemetry.tree()).toEqual(['send charged', '  process charged', '  process charged', '    send refused']),
    );
    const attempts = telemetry.spans.filter(({ name }) => name === 'process charged');
    expect(attempts.map(({ attributes }) => attributes)).toMatchObject([
      { 'hubline.attempt': 1, 'hubline.outcome': 'retry', 'error.type': 'RangeError' },
      { 'hubline.attempt': 2, 'hubline.outcome': 'failed', 'error.type': 'FatalError' },
    ]);
    expect(attempts.map(({ status }) => status)).toEqual([
      { code: SpanStatusCode.ERROR, message: 'gateway away' },
      { code: SpanStatusCode.ERROR, message: 'card declined' },
    ]);
    expect(attempts[0]?.events).toMatchObject([
      {
        name: 'exception',
        attributes: {
          'exception.type': 'RangeError',
          'exception.message': 'gateway away',
          'exception.stacktrace': expect.stringContaining('telemetry.test'),
        },
      },
    ]);
  });

  it('a replayed dead letter continues its trace', async () => {
    const telemetry = recordTelemetry();
    const { hub } = testHub();
    let isBroken = true;
    hub.event({
      type: 'charged',
      handler() {
        if (isBroken) throw new FatalError('card declined');
      },
    });
    await hub.start();
    const { id } = await hub.emit('charged', null);
    await vi.waitFor(() => expect(telemetry.tree()).toEqual(['send charged', '  process charged']));
    isBroken = false;
    await hub.replay(id);
    await vi.waitFor(() =>
      expect(telemetry.tree()).toEqual(['send charged', '  process charged', '  process charged']),
    );
  });

  it('a timeout ends the span even if the handler still runs', async () => {
    const telemetry = recordTelemetry();
    const { hub, clock } = testHub();
    hub.event({ type: 'slow', timeoutMs: 100, handler: () => new Promise(() => {}) });
    await hub.start();
    await hub.emit('slow', null);
    await clock.advance(100);
    await vi.waitFor(() => expect(telemetry.span('process slow').status.code).toBe(SpanStatusCode.ERROR));
    expect(telemetry.span('process slow').attributes['error.type']).toBe('HandlerTimeoutError');
  });

  it('an event that is released at stop has not failed', async () => {
    const telemetry = recordTelemetry();
    const { hub } = testHub();
    const begun = deferred();
    hub.event({
      type: 'long',
      async handler({ signal }) {
        begun.resolve();
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      },
    });
    await hub.start();
    await hub.emit('long', null);
    await begun.promise;
    await hub.stop({ drainMs: 0 });
    const span = telemetry.span('process long');
    expect(span.status.code).toBe(SpanStatusCode.UNSET);
    expect(span.events).toEqual([]);
    expect(span.attributes).toMatchObject({ 'hubline.released': true });
    expect(span.attributes).not.toHaveProperty('hubline.outcome');
  });

  it('a rejected emit fails its span', async () => {
    const telemetry = recordTelemetry();
    const { hub } = testHub({ maxPending: 1 });
    hub.event({ type: 'ordered', handler: () => {} });
    await hub.start();
    await hub.emit('ordered', null, { delayMs: 1_000 });
    await expect(hub.emit('ordered', null)).rejects.toThrow('maxPending');
    const [, refused] = telemetry.spans;
    expect(refused?.attributes).toMatchObject({ 'error.type': 'BackpressureError' });
    expect(refused?.status.code).toBe(SpanStatusCode.ERROR);
  });

  it('an unsampled trace stays unsampled', async () => {
    const telemetry = recordTelemetry({ sampler: new AlwaysOffSampler() });
    const { hub } = testHub();
    const handled = deferred<string | undefined>();
    hub.event({ type: 'ordered', handler: () => handled.resolve(contextOf()?.traceId) });
    await hub.start();
    const traceId = await trace.getTracer('app').startActiveSpan('request', async (span) => {
      await hub.emit('ordered', null);
      return span.spanContext().traceId;
    });
    expect(await handled.promise).toBe(traceId);
    expect(telemetry.spans).toEqual([]);
  });

  it('a span processor that throws does not affect events', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockReturnValue();
    const fail = (): never => {
      throw new Error('disk full');
    };
    const flush = async (): Promise<void> => {};
    recordTelemetry({ processor: { onStart: fail, onEnd: fail, forceFlush: flush, shutdown: flush } });
    const { hub } = testHub();
    hub.event({ type: 'ordered', handler: () => {} });
    await hub.start();
    await hub.emit('ordered', null);
    await vi.waitFor(async () => expect(await hub.metrics('ordered')).toMatchObject({ completed: 1 }));
    expect(warn).toHaveBeenCalledWith('OpenTelemetry threw: disk full');
    warn.mockRestore();
  });
});
