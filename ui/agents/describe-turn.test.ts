import { expect, test } from 'vitest';
import type { StepIntrospection } from '../../server/dashboard/protocol.js';
import { describeTurn, type TurnView } from './agent-runs.js';

const usage = { promptTokens: 1_640, completionTokens: 212, totalTokens: 1_852 };

test.each<[Partial<StepIntrospection>, TurnView]>([
  [
    { turn: { agent: 'a', model: 'm', usage: { ...usage, cachedTokens: 40, reasoningTokens: 12, cost: 0.0042 } } },
    {
      name: 'turn 1',
      state: 'completed',
      isCall: false,
      facts: ['m', '1,640 in, 212 out', 'cost 0.0042', '40 cached', '12 reasoning'],
    },
  ],
  [
    { name: 'turn 1 / find', kind: 'tool' },
    { name: 'find', state: 'completed', isCall: true, facts: [] },
  ],
  [
    { name: 'turn 1 / find', kind: 'tool', turn: { isToolError: true } },
    { name: 'find', state: 'failed', isCall: true, facts: ['the model received an error'] },
  ],
  [
    { name: 'turn 1 / refund', kind: 'approval', status: 'waiting', waitsFor: { since: 0 } },
    { name: 'refund', state: 'suspended', isCall: true, facts: ['approval'] },
  ],
  [
    { status: 'failed', error: { name: 'ProviderError', message: 'overloaded' }, turn: { agent: 'a' } },
    { name: 'turn 1', state: 'failed', isCall: false, facts: ['ProviderError: overloaded'] },
  ],
])('%j', (step, view) => {
  expect(describeTurn({ name: 'turn 1', kind: 'model', status: 'completed', ...step })).toEqual(view);
});
