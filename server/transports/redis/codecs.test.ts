import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Envelope } from '../transport.js';
import { decodeEnvelope, envelopeArguments } from './publishing/envelope-codec.js';
import { eventIdOf, jobIdOf, serviceOf, typeOf, unitOf } from './names.js';
import { decodeError, outcomeArguments } from './outcomes/outcome-codec.js';
import { readArray, readHash, readNumber, readString } from './scripts/reply.js';
import { readCheckpoints } from './reading/runs.js';

const name = fc.string({ unit: 'binary', minLength: 1 });

it('names come back as they went, and hold nothing that BullMQ forbids', () => {
  fc.assert(
    fc.property(name, name, (service, type) => {
      const unit = unitOf(service, type);
      expect([serviceOf(unit), typeOf(unit)]).toEqual([service, type]);
      expect(eventIdOf(jobIdOf(type))).toBe(type);
      expect(`${unit}${jobIdOf(type)}`).not.toContain(':');
      expect(jobIdOf(type)).not.toMatch(/^\d+$/);
    }),
  );
});

it('an envelope comes back as it went, once a script has written its depth and replays', () => {
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
  });
  fc.assert(
    fc.property(envelopes, (envelope) => {
      const [jobId, , , head, depth, priority] = envelopeArguments(envelope, 'shop');
      const data: unknown = JSON.parse(`${head},"depth":${depth},"replays":${envelope.replays}}`);
      expect(decodeEnvelope(String(jobId), envelope.type, data)).toEqual(envelope);
      // BullMQ's own range, in its order.
      expect(priority).toBeGreaterThanOrEqual(1);
      expect(priority).toBe(101 - envelope.priority);
    }),
  );
});

it.each([undefined, null, 'traceparent', { traceparent: 7 }])(
  'an envelope whose trace is %j, as an older or another version may write it, has none',
  (trace) => {
    const data = { requestId: 'r', body: 'null', depth: 0, replays: 0, delayMs: 0, priority: 0, trace };
    expect(decodeEnvelope('event-1', 'ordered', data).trace).toBeUndefined();
  },
);

it('an error comes back as it went', () => {
  const error = { name: 'TypeError', message: 'no "x"', code: 'ERR_X' };
  const args = outcomeArguments({ status: 'failed', durationMs: 1, error, followUps: [] }, 2, 'shop');
  expect(args.slice(0, 2)).toEqual(['failed', 2]);
  expect(decodeError(String(args[4]))).toEqual(error);
});

it('checkpoints come back in their order', () => {
  const hash = new Map([
    ['b', '10 "x y"'],
    ['a', '2 1'],
  ]);
  expect([...readCheckpoints(hash)]).toEqual([
    ['a', '1'],
    ['b', '"x y"'],
  ]);
});

it('a job that something else put into the queue is named as such', () => {
  expect(() => decodeEnvelope('e-1', 'a', { requestId: 'x' })).toThrow('holds no event');
});

it.each([
  [() => readArray('x'), '"x" where an array'],
  [() => readString(null), 'null where a string'],
  [() => readNumber('x'), '"x" where a number'],
  [() => readHash([1]), '1 where a string'],
])('an answer that is not what was expected is an error', (read, message) => {
  expect(read).toThrow(message);
});
