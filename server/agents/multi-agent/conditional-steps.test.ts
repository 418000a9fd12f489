import { describe, expect, test } from 'vitest';
import { testHub } from '../../hub/hub.fixture.js';
import type { ScriptEntry } from '../../testing/scripted-provider.js';
import type { Transport } from '../../transports/transport.js';
import type { AgentConfig } from '../create-agent.js';
import { agentOf } from '../scripted-agent.fixture.js';
import { createPipeline, type PipelineConfig } from './create-pipeline.js';

const member = (name: string, script: readonly ScriptEntry[] = [], config: Partial<AgentConfig> = {}) =>
  agentOf(script, { name, systemPrompt: '', tools: [], ...config });

/** A model that answers when the test says so. */
function heldModel() {
  const calls: ((answer: string) => void)[] = [];
  const chat = () =>
    new Promise<string>((resolve) => calls.push(resolve)).then((content) => ({
      content,
      toolCalls: [],
      usage: { promptTokens: 1, completionTokens: 1, totalTokens: 2 },
      finishReason: 'stop' as const,
    }));
  return { provider: { chat }, calls };
}

async function started(config: PipelineConfig, transport?: Transport) {
  const scene = testHub(transport === undefined ? {} : { transport });
  const pipeline = scene.hub.workflow(createPipeline(config));
  await scene.hub.start();
  return { ...scene, pipeline };
}

const inputsOf = ({ provider }: ReturnType<typeof member>) =>
  provider.calls.map(({ messages }) => messages.at(-1)?.content);

describe('parallel steps', () => {
  test('run at the same time on one payload, and the next agent receives their outputs by name', async () => {
    const [one, two] = [heldModel(), heldModel()];
    const parallel = [
      { agent: member('facts', [], { provider: one.provider }).agent },
      { agent: member('prices', [], { provider: two.provider }).agent },
    ];
    const writer = member('writer', ['done']);
    const { hub, clock, pipeline } = await started({ name: 'p', steps: [{ parallel }, { agent: writer.agent }] });
    const run = await hub.startWorkflow(pipeline, 'teapots');
    await clock.settle();
    expect([one.calls.length, two.calls.length]).toEqual([1, 1]);
    expect((await hub.introspect()).workflows[0]?.steps).toEqual([
      { name: 'facts', kind: 'agent', agent: 'facts', stage: 0 },
      { name: 'prices', kind: 'agent', agent: 'prices', stage: 0 },
      { name: 'writer', kind: 'agent', agent: 'writer' },
    ]);
    const { steps } = await run.status();
    expect(steps.filter(({ kind }) => kind === 'run').map(({ status }) => status)).toEqual([
      'active',
      'active',
      'waiting',
    ]);
    two.calls[0]?.('5 EUR');
    await clock.settle();
    const later = (await run.status()).steps.filter(({ kind }) => kind === 'run');
    expect(later.map(({ status }) => status)).toEqual(['active', 'completed', 'waiting']);
    one.calls[0]?.('round');
    expect(await run.result()).toMatchObject({ agentName: 'writer', output: 'done' });
    expect(inputsOf(writer)).toEqual(['{"facts":"round","prices":"5 EUR"}']);
  });

  test('at the end make up the result', async () => {
    const parallel = [{ agent: member('a', ['one']).agent }, { agent: member('b', ['two']).agent }];
    const { hub, pipeline } = await started({ name: 'p', steps: [{ parallel }] });
    expect(await (await hub.startWorkflow(pipeline, 'x')).result()).toEqual({
      a: expect.objectContaining({ agentName: 'a', output: 'one' }),
      b: expect.objectContaining({ agentName: 'b', output: 'two' }),
    });
  });

  test('that are interrupted run again alone', async () => {
    const held = heldModel();
    const facts = member('facts', ['round']);
    const stepsWith = (prices: ReturnType<typeof member>, writer = member('writer')) => [
      { parallel: [{ agent: facts.agent }, { agent: prices.agent }] },
      { agent: writer.agent },
    ];
    const first = await started({ name: 'p', steps: stepsWith(member('prices', [], { provider: held.provider })) });
    await first.hub.startWorkflow(first.pipeline, 'x');
    await first.clock.settle();
    await first.hub.stop({ drainMs: 0 });

    const [prices, writer] = [member('prices', ['5 EUR']), member('writer', ['done'])];
    const { hub, clock } = await started({ name: 'p', steps: stepsWith(prices, writer) }, first.transport);
    await clock.settle();
    expect((await hub.introspect()).workflows[0]?.metrics).toMatchObject({ completed: 1, failed: 0 });
    for (const { provider } of [facts, prices, writer]) provider.assertDone();
    expect(inputsOf(writer)).toEqual(['{"facts":"round","prices":"5 EUR"}']);
  });

  test('of which one fails let the others end, and a replay repeats the failed one alone', async () => {
    const held = heldModel();
    const slow = member('slow', [], { provider: held.provider });
    const broken = member('broken', [new Error('down'), 'fine']);
    const { hub, clock, pipeline } = await started({
      name: 'p',
      steps: [{ parallel: [{ agent: broken.agent }, { agent: slow.agent }] }],
    });
    const run = await hub.startWorkflow(pipeline, 'x');
    await clock.settle();
    expect(await run.status()).toMatchObject({ status: 'active' });
    held.calls[0]?.('late');
    await expect(run.result()).rejects.toMatchObject({ failure: { name: 'AgentRunError' } });
    await hub.replay(run.runId);
    await clock.settle();
    expect(await run.result()).toMatchObject({ broken: { output: 'fine' }, slow: { output: 'late' } });
    expect(held.calls).toHaveLength(1);
  });
});

describe('when', () => {
  test('skips a step, whose payload the next one receives', async () => {
    const [triage, refund, draft] = [member('triage', ['a question']), member('refund'), member('draft', ['Dear Ada'])];
    const payloads: unknown[] = [];
    const when = (payload: unknown): boolean => {
      payloads.push(payload);
      return false;
    };
    const { hub, pipeline } = await started({
      name: 'p',
      steps: [{ agent: triage.agent }, { agent: refund.agent, when }, { agent: draft.agent, when: () => true }],
    });
    expect(await (await hub.startWorkflow(pipeline, 'x')).result()).toMatchObject({ output: 'Dear Ada' });
    expect(payloads).toEqual([expect.objectContaining({ agentName: 'triage', output: 'a question' })]);
    expect(inputsOf(draft)).toEqual(['a question']);
    expect(refund.provider.calls).toEqual([]);
  });

  test('leaves skipped results out of those of a parallel step; if all are skipped, the payload stays', async () => {
    const [a, b, c] = [member('a', ['one']), member('b'), member('c', ['end'])];
    const skip = (agent: typeof a) => ({ agent: agent.agent, when: () => false });
    const { hub, pipeline } = await started({
      name: 'p',
      steps: [{ parallel: [skip(b), skip(b)] }, { parallel: [{ agent: a.agent }, skip(b)] }, { agent: c.agent }],
    });
    await (await hub.startWorkflow(pipeline, 'x')).result();
    expect([inputsOf(a), inputsOf(c)]).toEqual([['x'], ['{"a":"one"}']]);
  });

  test('is asked once per run: the answer is recorded', async () => {
    let asked = 0;
    const held = heldModel();
    const stepsWith = (last: ReturnType<typeof member>) => [
      { agent: member('optional').agent, when: () => asked++ > 0 },
      { agent: last.agent },
    ];
    const first = await started({ name: 'p', steps: stepsWith(member('last', [], { provider: held.provider })) });
    await first.hub.startWorkflow(first.pipeline, 'x');
    await first.clock.settle();
    await first.hub.stop({ drainMs: 0 });
    const last = member('last', ['end']);
    const { hub, clock } = await started({ name: 'p', steps: stepsWith(last) }, first.transport);
    await clock.settle();
    expect((await hub.introspect()).workflows[0]?.metrics).toMatchObject({ completed: 1 });
    expect(asked).toBe(1);
    expect(inputsOf(last)).toEqual(['x']);
  });

  test('must return true or false', async () => {
    const when = (() => 'yes') as never; // wrong on purpose: the compiler rejects it
    const { hub, pipeline } = await started({ name: 'p', steps: [{ agent: member('a').agent, when }] });
    await expect((await hub.startWorkflow(pipeline, 'x')).result()).rejects.toThrow(
      'the result of when of step "a" of pipeline "p" must be true or false',
    );
  });
});
