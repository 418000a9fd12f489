import { expect, it } from 'vitest';
import { cpuMsSince } from '../testing/cpu-time.fixture.js';
import { nearestNames } from './nearest-names.js';

it.each([
  ['order.craeted', ['order.created', 'order.shipped'], ['order.created']],
  ['Order.Created', ['order.created'], ['order.created']],
  [
    'order.create',
    ['order.created', 'order.creates', 'order.crated', 'order.creator'],
    ['order.created', 'order.creates', 'order.crated'],
  ],
  ['payment', ['order.created'], []],
  ['x', [], []],
  [`${'x'.repeat(200)}a`, [`${'x'.repeat(200)}b`], [`${'x'.repeat(200)}b`]],
])('for %j among %j returns %j', (name, candidates, expected) => {
  expect(nearestNames(name, candidates)).toEqual(expected);
});

it.each([
  ['unlike it', (index: number) => `${'x'.repeat(60)}${index}`],
  ['like it', (index: number) => `${'a'.repeat(50)}${index}`],
])('takes a bounded time among 100,000 names %s', (_, nameOf) => {
  const candidates = Array.from({ length: 100_000 }, (__, index) => nameOf(index));
  const before = process.cpuUsage();
  for (let call = 0; call < 5; call += 1) nearestNames('a'.repeat(64), candidates);
  // It took 10 s per call.
  expect(cpuMsSince(before)).toBeLessThan(2_000);
});
