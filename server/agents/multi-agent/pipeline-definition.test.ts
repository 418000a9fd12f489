import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { InvalidOptionError } from '../../errors.js';
import type { Agent } from '../agent/agent.js';
import { agentOf } from '../scripted-agent.fixture.js';
import { createPipeline, type PipelineConfig } from './create-pipeline.js';
import { createAgentRegistry } from './delegation.js';

describe('the steps', () => {
  const nameOf = (...agents: (Agent | string)[]) =>
    createPipeline({
      name: 'p',
      registry: createAgentRegistry(),
      steps: agents.map((agent) => ({ agent })),
    }).steps.map(({ name }) => name);

  test('are named after their agents', () => {
    expect(nameOf(agentOf([], { name: 'triage' }).agent, 'draft', 'review')).toEqual(['triage', 'draft', 'review']);
  });

  test('of one agent are numbered', () => {
    const { agent } = agentOf([], { name: 'draft' });
    expect(nameOf(agent, 'review', agent, 'draft')).toEqual(['draft', 'review', 'draft 2', 'draft 3']);
  });

  test('have unique names, whatever the agents are called, and added steps rename no earlier one', () => {
    const names = fc.array(fc.constantFrom('a', 'a 2', 'a 2 2', '2', 'a 3'), { minLength: 1 });
    fc.assert(
      fc.property(names, fc.string({ minLength: 1, maxLength: 1, unit: 'grapheme-ascii' }), (agents, added) => {
        const steps = nameOf(...agents);
        expect(new Set(steps).size).toBe(agents.length);
        expect(nameOf(...agents, added).slice(0, -1)).toEqual(steps);
      }),
    );
  });
});

describe('createPipeline refuses', () => {
  const { agent } = agentOf([], { name: 'a' });
  const registry = createAgentRegistry();
  const named = { steps: [{ agent: 'a' }] };
  test.each<[string, unknown]>([
    ['createPipeline must be an object, got undefined', undefined],
    ['name of a workflow must be', { name: '', steps: [{ agent }] }],
    ['option of pipeline "p" must be one of name, description,', { ...named, agents: registry }],
    ['option of step "a" of pipeline "p" must be one of agent, inputMapper,', { steps: [{ agent, name: 'a' }] }],
    ['steps of pipeline "p" must be an array with at least one step, got undefined', { steps: undefined }],
    ['steps of pipeline "p" must be an array with at least one step, got an empty array', { steps: [] }],
    ['a step of pipeline "p" must be an object, got "a"', { steps: ['a'] }],
    ['agent of a step of pipeline "p" must be an agent from createAgent, or the name of one', { steps: [{}] }],
    ['agent of a step of pipeline "p" must be an agent from createAgent', { steps: [{ agent: '' }] }],
    ['agent of a step of pipeline "p" must be an agent from createAgent', { steps: [{ agent: { name: 'a' } }] }],
    ['registry of pipeline "p" must be present if a step refers to its agent by name ("a"), got undefined', named],
    ['registry of pipeline "p" must be an AgentRegistry, got an object', { ...named, registry: new Map() }],
    ['inputMapper of step "a" of pipeline "p" must be a function', { steps: [{ agent, inputMapper: 'input' }] }],
    ['when of step "a" of pipeline "p" must be a function', { steps: [{ agent, when: true }] }],
    ['parallel of a parallel step of pipeline "p" must be an array with at least one', { steps: [{ parallel: [] }] }],
    ['option of a parallel step of pipeline "p"', { steps: [{ parallel: [{ agent }], timeoutMs: 5 }] }],
    ['a step of pipeline "p" must be an object, got "a"', { steps: [{ parallel: ['a'] }] }],
    ['retry.maxAttempts of step "a"', { steps: [{ agent, retry: { maxAttempts: 0 } }] }],
    ['onSuccess of workflow "p"', { steps: [{ agent }], onSuccess: 5 }],
  ])('%s', (message, config) => {
    const create = () => createPipeline((config && { name: 'p', ...config }) as PipelineConfig);
    expect(create).toThrow(InvalidOptionError);
    expect(create).toThrow(message);
  });
});
