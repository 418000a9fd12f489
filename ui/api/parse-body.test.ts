import { expect, test } from 'vitest';
import { countsOf, detailOf, eventOf, introspectionOf } from '../testing/test-data.js';
import { parseEvent, parseIntrospection } from './parse-body.js';

const whole = {
  protocol: 1,
  ...introspectionOf([
    eventOf('order.created', countsOf(3, 1), {
      retry: { maxAttempts: 3, initialDelayMs: 500, maxDelayMs: 30_000, factor: 2, jitter: true },
      schema: { type: 'object' },
      onSuccess: 'order.paid',
    }),
    eventOf('__proto__'),
  ]),
  workflows: [],
  agents: [],
};

test('parses a body with unknown fields', () => {
  expect(parseIntrospection({ ...whole, later: true })).toMatchObject({ events: [{ type: 'order.created' }, {}] });
  expect(parseEvent(detailOf('a/b', countsOf(2)))).toMatchObject({ type: 'a/b', completed: 2 });
});

test('rejects another protocol with advice', () => {
  expect(() => parseIntrospection({ ...whole, protocol: 2 })).toThrow(/the server sends protocol 2\. Reload/);
  expect(() => parseIntrospection({ hub: {} })).toThrow(/an unknown protocol/);
});

test.each<[string, unknown]>([
  ['body is null, expected an object', null],
  ['body is [], expected an object', []],
  ['body.events is missing, expected a list', { ...whole, events: undefined }],
  ['body.events[0].type is 7, expected a string', { ...whole, events: [{ ...eventOf('a'), type: 7 }] }],
  [
    'body.events[0].metrics.failed is "1", expected a number',
    { ...whole, events: [{ ...eventOf('a'), metrics: { ...countsOf(), failed: '1' } }] },
  ],
  ['body.events[0].timeoutMs is null, expected a number', { ...whole, events: [{ ...eventOf('a'), timeoutMs: null }] }],
])('reports the invalid value: %s', (message, body) => {
  expect(() => parseIntrospection(body)).toThrow(message);
});
