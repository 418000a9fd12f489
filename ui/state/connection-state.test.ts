import { expect, test } from 'vitest';
import { RequestError } from '../api/fetch-json.js';
import { type ConnectionFacts, type ConnectionState, connectionStateOf } from './connection-state.js';

const error = new RequestError('The server does not respond.');
const live: ConnectionFacts = {
  now: 100_000,
  intervalMs: 2_000,
  lastGoodAt: 99_000,
  tookMs: 20,
  awaitingSince: 0,
  error: null,
};

test.each<[string, Partial<ConnectionFacts>, ConnectionState]>([
  ['a recent response', {}, { kind: 'live' }],
  ['no response yet', { lastGoodAt: null }, { kind: 'connecting' }],
  ['polling is off', { intervalMs: null, lastGoodAt: 0 }, { kind: 'paused' }],
  ['three intervals since the last response', { lastGoodAt: 94_000 }, { kind: 'live' }],
  ['more than three intervals', { lastGoodAt: 93_999 }, { kind: 'stale', ageMs: 6_001 }],
  ['not stale before 5 s', { intervalMs: 1_000, lastGoodAt: 95_000 }, { kind: 'live' }],
  ['a tab that was hidden for a long time', { lastGoodAt: 10_000, awaitingSince: 99_500 }, { kind: 'live' }],
  ['the last request took a second', { tookMs: 1_000 }, { kind: 'slow', tookMs: 1_000 }],
  ['slow and overdue', { tookMs: 2_000, lastGoodAt: 93_999 }, { kind: 'stale', ageMs: 6_001 }],
  ['the last request failed', { error }, { kind: 'lost', error }],
  ['the first request failed', { error, lastGoodAt: null }, { kind: 'lost', error }],
])('%s', (_, facts, expected) => {
  expect(connectionStateOf({ ...live, ...facts })).toEqual(expected);
});
