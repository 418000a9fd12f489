import { describe, expect, it } from 'vitest';
import type { AgentIntrospection } from './agent-introspection.js';
import { type HubDescription, parseDescription } from './hub-description.js';
import { mergeDescriptions } from './merge-descriptions.js';

const none: HubDescription = { service: 'shop', events: [], workflows: [], agents: [], schedules: [] };

function agent(fields: Partial<AgentIntrospection>): AgentIntrospection {
  const tokenUsage = { promptTokens: 1, completionTokens: 2, totalTokens: 3 };
  return { name: 'writer', model: 'm', tools: [], delegates: [], runs: { completed: 1 }, tokenUsage, ...fields };
}

describe('mergeDescriptions', () => {
  it('prefers the hub that handles a type over one that only declares it', () => {
    const declaring: HubDescription = { ...none, events: [{ type: 'a', kind: 'declared' }] };
    const handling: HubDescription = { ...none, events: [{ type: 'a', kind: 'handler', description: 'An event' }] };
    const mailing = { ...handling, service: 'mail' };
    expect(mergeDescriptions(declaring, [declaring, handling, mailing, handling]).events).toEqual([
      {
        description: { type: 'a', kind: 'handler', description: 'An event' },
        processes: new Map([
          ['shop', 2],
          ['mail', 1],
        ]),
      },
    ]);
  });

  it('includes the requesting hub before it runs', () => {
    const own: HubDescription = { ...none, workflows: [{ name: 'flow', steps: [{ name: 'step', kind: 'step' }] }] };
    expect(mergeDescriptions(own, []).workflows).toMatchObject([
      { description: { name: 'flow' }, processes: new Map() },
    ]);
  });

  it('adds up the runs and tokens of an agent', () => {
    const one = { ...none, agents: [agent({})] };
    const two = { ...none, agents: [agent({ runs: { completed: 2, failed: 1 } }), agent({ name: 'other' })] };
    expect(mergeDescriptions(one, [one, two]).agents).toMatchObject([
      { name: 'writer', runs: { completed: 3, failed: 1 }, tokenUsage: { totalTokens: 6 } },
      { name: 'other', runs: { completed: 1 } },
    ]);
  });

  it.each(['{}', 'null', '{"events":7,"workflows":[{"name":"x"},{"name":"y","steps":[{}]}],"agents":[null]}'])(
    'omits what cannot be parsed: %s',
    (json) => {
      expect(parseDescription(json)).toMatchObject({ events: [], workflows: [], agents: [] });
    },
  );
});
