import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Envelope } from '../../delivery.js';
import { decodeEnvelope, envelopeArguments } from './event-codec.js';

const name = fc.string({ unit: 'binary', minLength: 1 });

it('decodes every encoded envelope after a script has appended depth and replays', () => {
  const envelopes = fc.record<Envelope>({
    id: name,
    type: name,
    body: fc.json(),
    requestId: fc.string({ unit: 'binary' }),
    depth: fc.nat(64),
    delayMs: fc.nat(),
    priority: fc.integer({ min: -100, max: 100 }),
    replays: fc.nat(9),
    dedupe: fc.constant(undefined),
    trace: fc.option(fc.dictionary(name, fc.string({ unit: 'binary' })), { nil: undefined }),
    key: fc.option(fc.string({ unit: 'binary' }), { nil: undefined }),
    causeId: fc.option(name, { nil: undefined }),
    parent: fc.option(fc.record({ type: name, id: name, wait: name }), { nil: undefined }),
  });
  fc.assert(
    fc.property(envelopes, (envelope) => {
      const [jobId, , , key, links, , head, depth, priority] = envelopeArguments(envelope, 'shop');
      const data: unknown = JSON.parse(`${head}${links},"depth":${depth},"replays":${envelope.replays}}`);
      expect(decodeEnvelope(String(jobId), envelope.type, data)).toEqual(envelope);
      expect(key).toBe(envelope.key === undefined ? '' : `=${encodeURIComponent(envelope.key)}`);
      // BullMQ accepts priorities from 1 and starts the lowest first.
      expect(priority).toBeGreaterThanOrEqual(1);
      expect(priority).toBe(101 - envelope.priority);
    }),
  );
});

it.each([undefined, null, 'traceparent', { traceparent: 7 }])('ignores the unreadable trace %j', (trace) => {
  const data = { requestId: 'r', body: 'null', depth: 0, replays: 0, delayMs: 0, priority: 0, trace };
  expect(decodeEnvelope('event-1', 'ordered', data).trace).toBeUndefined();
});

it('rejects a job that carries no event', () => {
  const decode = () => decodeEnvelope('e-1', 'a', { requestId: 'x' });
  expect(decode).toThrow(expect.objectContaining({ code: 'ERR_UNEXPECTED_DATA' }));
  expect(decode).toThrow('job "e-1" carries no event');
});
