import { describe, expect, test } from 'vitest';
import { testHub } from '../hub/hub.fixture.js';
import type { ScriptEntry } from '../testing/scripted-provider.js';
import type { AgentConfig } from './create-agent.js';
import { ContentFilterError, ProviderError } from './model/provider-error.js';
import { createDebate } from './multi-agent/create-debate.js';
import { createPipeline } from './multi-agent/create-pipeline.js';
import { agentOf, callAdd } from './scripted-agent.fixture.js';

const refused = new ProviderError('no such key', { provider: 'p', statusCode: 401, retryable: false });
const busy = (retryAfterMs: number) =>
  new ProviderError('busy', { provider: 'p', statusCode: 429, retryable: true, retryAfterMs });

describe('an event is not retried', () => {
  test.each<[string, ScriptEntry[]]>([
    ['a refused key', [refused]],
    ['a content filter', [new ContentFilterError('p', 'safety')]],
    ['a stuck loop', Array.from({ length: 5 }, () => callAdd(1, 2))],
  ])('after %s', async (_, script) => {
    const { hub, clock } = testHub();
    const { agent, provider } = agentOf(script);
    hub.event({ type: 'x', handler: agent.asHandler(), retry: { maxAttempts: 3, initialDelayMs: 0 } });
    await hub.start();
    await hub.emit('x', 'go');
    await clock.advance(60_000);
    expect(await hub.metrics('x')).toMatchObject({ failed: 1, retried: 0 });
    provider.assertDone();
    await hub.stop();
  });
});

describe('a vendor’s Retry-After delays the next attempt', () => {
  const config: Partial<AgentConfig> = { tools: [] };

  test.each<[string, number, number, Partial<AgentConfig>]>([
    ['of an event', 60_000, 60_000, {}],
    ['of an event, at most an hour', 999_999_000, 3_600_000, {}],
    ['of an event, at most maxRetryAfterMs', 999_999_000, 7_000, { maxRetryAfterMs: 7_000 }],
  ])('%s', async (_, retryAfterMs, delayMs, more) => {
    const { hub, clock } = testHub();
    const { agent, provider } = agentOf([busy(retryAfterMs), 'ok'], { ...config, ...more });
    hub.event({ type: 'x', handler: agent.asHandler(), retry: { initialDelayMs: 0 } });
    await hub.start();
    await hub.emit('x', 'go');
    await clock.advance(delayMs - 1);
    expect(provider.calls).toHaveLength(1);
    await clock.advance(1);
    await clock.settle();
    expect(await hub.metrics('x')).toMatchObject({ completed: 1, retried: 1 });
    await hub.stop();
  });

  test('of a step of a pipeline', async () => {
    const { hub, clock } = testHub();
    const { agent, provider } = agentOf([busy(60_000), 'ok'], config);
    const pipeline = createPipeline({ name: 'p', steps: [{ agent, retry: { initialDelayMs: 0 } }] });
    hub.workflow(pipeline);
    await hub.start();
    await hub.startWorkflow(pipeline, 'go');
    await clock.advance(59_999);
    expect(provider.calls).toHaveLength(1);
    await clock.advance(1);
    expect(provider.calls).toHaveLength(2);
    await hub.stop();
  });

  test('of a debate', async () => {
    const { hub, clock } = testHub();
    const speakers = ['a', 'b'].map((name) => agentOf([busy(60_000), name], { ...config, name }));
    const debate = createDebate({ name: 'd', participants: speakers.map(({ agent }) => agent), maxRounds: 1 });
    hub.event({ type: 'x', handler: debate.asHandler(), retry: { initialDelayMs: 0 } });
    await hub.start();
    await hub.emit('x', 'go');
    await clock.advance(59_999);
    expect(await hub.metrics('x')).toMatchObject({ completed: 0, failed: 0 });
    await clock.advance(1);
    await clock.settle();
    expect(await hub.metrics('x')).toMatchObject({ completed: 1 });
    await hub.stop();
  });
});

describe('a paid run does not fail on its own size', () => {
  const big = { name: 'add', description: '', parameters: {}, execute: async () => 'y'.repeat(300_000) };

  test('with a big tool result and an onSuccess', async () => {
    const { hub, clock } = testHub();
    const { agent } = agentOf([callAdd(1, 2), callAdd(2, 3), 'ok'], { tools: [big] });
    const payloads: unknown[] = [];
    hub.event({ type: 'x', handler: agent.asHandler(), onSuccess: 'done' });
    hub.event({ type: 'done', handler: ({ payload }) => void payloads.push(payload) });
    await hub.start();
    await hub.emit('x', 'go');
    await clock.settle();
    expect(payloads).toMatchObject([{ output: 'ok', toolCalls: [{ name: 'add' }, { name: 'add' }] }]);
    await hub.stop();
  });

  test('in a pipeline, and with a thousand calls', async () => {
    const { hub, clock } = testHub();
    const calls = {
      toolCalls: Array.from({ length: 1_000 }, (_, index) => ({ name: 'x'.repeat(5_000), arguments: { index } })),
    };
    const { agent } = agentOf([callAdd(1, 2), calls, 'ok'], { tools: [big] });
    const pipeline = createPipeline({ name: 'p', steps: [{ agent }], onSuccess: 'done' });
    const payloads: unknown[] = [];
    hub.workflow(pipeline);
    hub.event({ type: 'done', handler: ({ payload }) => void payloads.push(payload) });
    await hub.start();
    await hub.startWorkflow(pipeline, 'go');
    await clock.settle();
    expect(payloads).toMatchObject([{ output: 'ok' }]);
    await hub.stop();
  });
});
