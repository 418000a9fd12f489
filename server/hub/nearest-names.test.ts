import { expect, it } from 'vitest';
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
