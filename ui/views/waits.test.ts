import { expect, test } from 'vitest';
import type { WaitIntrospection } from '../../server/dashboard/protocol.js';
import { groupBy } from '../shared/lists.js';
import { stepOf, toolOf } from './waits.js';

function waitOf(id: string, type: string, step: string): WaitIntrospection {
  return {
    id,
    kind: 'workflow',
    type,
    service: 'shop',
    requestId: id,
    step: { name: step, kind: 'sleep', status: 'waiting', waitsFor: { since: 0 } },
  };
}

test('groups by type and step, in the order of the oldest wait of each', () => {
  const waits = [waitOf('1', 'b', 'x'), waitOf('2', 'a', 'x'), waitOf('3', 'b', 'y'), waitOf('4', 'b', 'x')];
  expect([...groupBy(waits, stepOf).values()].map((of) => of.map(({ id }) => id))).toEqual([['1', '4'], ['2'], ['3']]);
});

test.each([
  ['turn 1 / refund', 'refund'],
  ['triage / turn 2 / refund #2', 'refund'],
  ['turn 1 / delegate / turn 3 / send mail', 'send mail'],
])('the approval %s is for the tool %s', (name, tool) => {
  expect(toolOf(waitOf('1', 'a', name))).toBe(tool);
});
