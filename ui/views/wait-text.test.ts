import { expect, test } from 'vitest';
import type { StepIntrospection, WaitIntrospection } from '../../server/dashboard/protocol.js';
import { toolOf, waitText } from './waits.js';

function waitOf(step: Partial<StepIntrospection>): WaitIntrospection {
  const run = { id: 'r', kind: 'workflow', type: 'w', service: 's', requestId: 'q' } as const;
  return { ...run, step: { name: 's', kind: 'sleep', status: 'waiting', ...step } };
}

test.each([
  ['turn 1 / refund', 'refund'],
  ['triage / turn 2 / refund #2', 'refund'],
  ['turn 1 / delegate / turn 3 / send mail', 'send mail'],
])('the approval %s is for the tool %s', (name, tool) => {
  expect(toolOf(waitOf({ name }))).toBe(tool);
});

test.each<[Partial<StepIntrospection>, string]>([
  [{ kind: 'event', waitsFor: { since: 0, event: { type: 'paid' } } }, 'event paid'],
  [{ kind: 'invoke', waitsFor: { since: 0, runId: '0123456789' } }, 'run 01234567'],
  [{ kind: 'sleep', waitsFor: { since: 0, dueAt: 1 } }, 'the end of its sleep'],
  [{ kind: 'run', waitsFor: { since: 0, dueAt: 1 } }, 'the next attempt'],
])('%j waits for %s', (step, text) => {
  expect(waitText(waitOf(step))).toBe(text);
});
