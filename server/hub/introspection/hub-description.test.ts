import { describe, expect, it } from 'vitest';
import type { AgentDescription } from '../events/reported-agents.js';
import { DescriptionMerger, type HubDescription, mergeDescriptions, parseDescription } from './hub-description.js';

const none: HubDescription = { service: 'shop', events: [], workflows: [], agents: [], schedules: [] };

function agent(fields: Partial<AgentDescription>): AgentDescription {
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
        processCount: 3,
      },
    ]);
  });

  it('includes the requesting hub before it runs', () => {
    const own: HubDescription = { ...none, workflows: [{ name: 'flow', steps: [{ name: 'step', kind: 'step' }] }] };
    expect(mergeDescriptions(own, []).workflows).toMatchObject([
      { description: { name: 'flow' }, processes: new Map() },
    ]);
  });

  it('adds up the runs, tokens and durations of an agent', () => {
    const one = { ...none, agents: [agent({ durations: [30, 1, 2] })] };
    const writer = agent({ runs: { completed: 2, failed: 1 }, durations: [29, 1, 1] });
    const two = { ...none, agents: [writer, agent({ name: 'other' })] };
    expect(mergeDescriptions(one, [one, two]).agents).toMatchObject([
      { name: 'writer', runs: { completed: 3, failed: 1 }, tokenUsage: { totalTokens: 6 }, durations: [29, 1, 2, 2] },
      { name: 'other', runs: { completed: 1 } },
    ]);
  });

  it('adds up the runs that began, and the tokens per hour', () => {
    const one = agent({ begun: 2, hours: [{ at: 0, runs: 2, tokens: 10, cost: 1 }] });
    const two = agent({
      begun: 3,
      hours: [
        { at: 0, runs: 1, tokens: 5, cost: 2 },
        { at: 3_600_000, runs: 2, tokens: 7 },
      ],
    });
    const old = agent({ runs: { completed: 4, failed: 1 } });
    const hubs = [one, two, old].map((each) => ({ ...none, agents: [each] }));
    expect(mergeDescriptions(none, hubs).agents).toMatchObject([
      {
        begun: 10,
        hours: [
          { at: 0, runs: 3, tokens: 15, cost: 3 },
          { at: 3_600_000, runs: 2, tokens: 7 },
        ],
      },
    ]);
  });

  it.each([
    '{}',
    JSON.stringify({ agents: [{ ...agent({}), hours: [{ at: 0 }] }] }),
    'null',
    JSON.stringify({ agents: [{ ...agent({}), durations: [0.5] }] }),
    '{"events":7,"workflows":[{"name":"x"},{"name":"y","steps":[{}]}],"agents":[null]}',
  ])('omits what cannot be parsed: %s', (json) => {
    expect(parseDescription(json)).toMatchObject({ events: [], workflows: [], agents: [] });
  });
});

describe('DescriptionMerger', () => {
  const event = { type: 'a', kind: 'handler' } as const;
  const own: HubDescription = { ...none, events: [event] };
  const running: HubDescription = { ...none, service: 'mail', events: [event], agents: [agent({})] };

  it('returns the same events while no hub registers another one, and always the current agents', () => {
    const merger = new DescriptionMerger();
    const first = merger.merge(own, [running]);
    const next = merger.merge({ ...own }, [{ ...running, agents: [agent({ runs: { completed: 9 } })] }]);
    expect(next.events).toBe(first.events);
    expect(next.agents).toMatchObject([{ runs: { completed: 9 } }]);
  });

  it.each<[string, HubDescription, readonly HubDescription[]]>([
    ['an event', own, [{ ...running, events: [event, { type: 'b', kind: 'handler' }] }]],
    ['an event of this hub', { ...own, events: [{ ...event }] }, [running]],
    ['a workflow', own, [{ ...running, workflows: [{ name: 'flow', steps: [] }] }]],
    ['a hub', own, [running, running]],
    ['its service', own, [{ ...running, service: 'shop' }]],
    ['its end', own, [{ ...running, isStopped: true }]],
  ])('merges again after a change of %s', (_, nextOwn, nextRunning) => {
    const merger = new DescriptionMerger();
    merger.merge(own, [running]);
    expect(merger.merge(nextOwn, nextRunning)).toEqual(mergeDescriptions(nextOwn, nextRunning));
    expect(merger.merge(own, [running])).toEqual(mergeDescriptions(own, [running]));
  });
});
