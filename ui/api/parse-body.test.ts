import { expect, test } from 'vitest';
import { eventColumns } from '../../server/dashboard/routes/event-columns.js';
import { createAnswers } from '../testing/answers.js';
import { countsOf, detailOf, eventOf, introspectionOf, SERVER_NOW } from '../testing/test-data.js';
import { parseBody, rangeCounts } from './api.js';
import { eventDetail } from './decode-event.js';
import { introspection } from './decode-introspection.js';
import { decodeBody } from './decoder.js';

const parseIntrospection = (body: unknown) => parseBody(introspection, body);

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
  expect(parseIntrospection({ ...whole, later: true })).toMatchObject({
    events: { types: ['order.created', '__proto__'], metrics: { completed: [3, 0] } },
  });
  expect(decodeBody(eventDetail, detailOf('a/b', countsOf(2)))).toMatchObject({ type: 'a/b', completed: 2 });
});

test('parses the bodies of a hub in trouble', () => {
  const answers = createAnswers(SERVER_NOW - 86_400_000, SERVER_NOW - 480_000);
  const { events: overviews, ...rest } = answers.introspection(SERVER_NOW);
  const body = JSON.parse(JSON.stringify({ ...rest, events: eventColumns(overviews) }));
  expect(parseIntrospection(body).health.problems[0]?.eventType).toBe('refund.requested');
  expect(decodeBody(eventDetail, answers.event('payment.requested', SERVER_NOW)).errorGroups).toHaveLength(2);
  expect(parseBody(rangeCounts, answers.range(SERVER_NOW - 60_000, SERVER_NOW)).events).toHaveLength(18);
});

test('rejects another protocol with advice', () => {
  expect(() => parseIntrospection({ ...whole, protocol: 3 })).toThrow(/the server sends protocol 3\. Reload/);
  expect(() => parseIntrospection({ hub: {} })).toThrow(/an unknown protocol/);
});

const { events } = whole;

test.each<[string, unknown]>([
  ['body is null, expected an object', null],
  ['body is [], expected an object', []],
  ['body.events is missing, expected an object', { ...whole, events: undefined }],
  ['body.events.types[0] is 7, expected a string', { ...whole, events: { ...events, types: [7] } }],
  [
    'body.events.metrics.failed[1] is "1", expected a number',
    { ...whole, events: { ...events, metrics: { failed: [0, '1'] } } },
  ],
  [
    'body.events.metrics.failed[0] is null, expected a number',
    { ...whole, events: { ...events, metrics: { failed: [null] } } },
  ],
  ['body.events.processes is 1, expected a list', { ...whole, events: { ...events, processes: 1 } }],
  [
    'body.events.minutes.received[0] is "1 -2", expected counts of at most 60 minutes',
    { ...whole, events: { ...events, minutes: { received: ['1 -2'] } } },
  ],
  [
    'body.events.details[0].agent is null, expected an object',
    { ...whole, events: { ...events, details: [{ index: 0, kind: 'agent', agent: null }] } },
  ],
  ['body.health.status is "bad", expected one of ok, degraded, failing', { ...whole, health: { status: 'bad' } }],
])('reports the invalid value: %s', (message, body) => {
  expect(() => parseIntrospection(body)).toThrow(message);
});
