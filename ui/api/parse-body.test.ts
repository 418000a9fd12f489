import { expect, test } from 'vitest';
import { answerOf, countsOf, detailOf, eventOf } from '../testing/test-data.js';
import { parseEvent, parseIntrospection } from './parse-body.js';

const whole = {
  protocol: 1,
  ...answerOf([
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

test('reads a body, with fields that it does not know', () => {
  expect(parseIntrospection({ ...whole, later: true })).toMatchObject({ events: [{ type: 'order.created' }, {}] });
  expect(parseEvent(detailOf('a/b', countsOf(2)))).toMatchObject({ type: 'a/b', completed: 2 });
});

test('refuses another protocol and says what to do', () => {
  expect(() => parseIntrospection({ ...whole, protocol: 2 })).toThrow(/the server speaks protocol 2\. Reload/);
  expect(() => parseIntrospection({ hub: {} })).toThrow(/no protocol that it names/);
});

test.each<[string, unknown]>([
  ['body is null, not an object', null],
  ['body is [], not an object', []],
  ['body.events is nothing, not a list', { ...whole, events: undefined }],
  ['body.events[0].type is 7, not a string', { ...whole, events: [{ ...eventOf('a'), type: 7 }] }],
  [
    'body.events[0].metrics.failed is "1", not a number',
    { ...whole, events: [{ ...eventOf('a'), metrics: { ...countsOf(), failed: '1' } }] },
  ],
  ['body.events[0].timeoutMs is null, not a number', { ...whole, events: [{ ...eventOf('a'), timeoutMs: null }] }],
])('names what is wrong: %s', (message, body) => {
  expect(() => parseIntrospection(body)).toThrow(message);
});
