import { expect, test } from 'vitest';
import { createAnswers } from '../testing/answers.js';
import { countsOf, detailOf, eventOf, introspectionOf, periodOf, recentOf, SERVER_NOW } from '../testing/test-data.js';
import { parseEvent, parseIntrospection, parseRange } from './parse-body.js';

const whole = {
  protocol: 2,
  ...introspectionOf([
    eventOf('order.created', countsOf(3, 1), {
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

test('parses the bodies of a hub in trouble', () => {
  const answers = createAnswers(SERVER_NOW - 86_400_000, SERVER_NOW - 480_000);
  const body = JSON.parse(JSON.stringify(answers.introspection(SERVER_NOW)));
  expect(parseIntrospection(body).health.problems[0]?.eventType).toBe('refund.requested');
  expect(parseEvent(answers.event('payment.requested', SERVER_NOW)).recentFailures).toHaveLength(20);
  expect(parseRange(answers.range(SERVER_NOW - 60_000, SERVER_NOW)).events).toHaveLength(18);
});

test('rejects another protocol with advice', () => {
  expect(() => parseIntrospection({ ...whole, protocol: 3 })).toThrow(/the server sends protocol 3\. Reload/);
  expect(() => parseIntrospection({ hub: {} })).toThrow(/an unknown protocol/);
});

// JSON has null for a number that is not finite.
const gap = { received: [1, Number.NaN], failed: [] };

test.each<[string, unknown]>([
  ['body is null, expected an object', null],
  ['body is [], expected an object', []],
  ['body.events is missing, expected a list', { ...whole, events: undefined }],
  ['body.events[0].type is 7, expected a string', { ...whole, events: [{ ...eventOf('a'), type: 7 }] }],
  [
    'body.events[0].metrics.failed is "1", expected a number',
    { ...whole, events: [{ ...eventOf('a'), metrics: { ...countsOf(), failed: '1' } }] },
  ],
  ['body.events[0].processes is null, expected a number', { ...whole, events: [{ ...eventOf('a'), processes: null }] }],
  [
    'body.events[0].recent.minutes.received[1] is null, expected a number',
    { ...whole, events: [eventOf('a', countsOf(), { recent: recentOf(periodOf(), { minutes: gap }) })] },
  ],
  ['body.health.status is "bad", expected one of ok, degraded, failing', { ...whole, health: { status: 'bad' } }],
])('reports the invalid value: %s', (message, body) => {
  expect(() => parseIntrospection(body)).toThrow(message);
});
