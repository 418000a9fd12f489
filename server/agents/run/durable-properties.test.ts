import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../scripts/property-tests.js';
import { createHub } from '../../hub/create-hub.js';
import type { Hub } from '../../hub/hub.js';
import { createFakeClock } from '../../testing/fake-clock.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import type { AgentHandlerResult } from '../agent/agent.js';
import type { ApprovalDecided, ApprovalRequest } from '../agent/approval.js';
import { createAgent } from '../create-agent.js';
import type { Message } from '../model/message.js';
import type { ModelProvider } from '../model/model-provider.js';
import { createTool } from '../tools/tool.js';
import { DyingProcess } from './dying-process.fixture.js';

const timeoutMs = 60_000;
const usage = { promptTokens: 10, completionTokens: 5, totalTokens: 15 };
const turnOf = fc.array(fc.constantFrom('look', 'pay', 'refund', 'wrong', 'gone'), { minLength: 1, maxLength: 3 });

/** Turns of a model, actions at which the process dies, decisions on approvals in the order of the requests. */
const story = fc.record({
  turns: fc.array(turnOf, { maxLength: 4 }),
  deaths: fc.uniqueArray(fc.nat(18), { maxLength: 5 }),
  decisions: fc.array(fc.constantFrom('granted', 'refused', 'late', 'twice'), { minLength: 12, maxLength: 12 }),
});

/** Handles one event with an agent, in as many processes as the story needs. */
async function tell({ turns, deaths, decisions }: typeof story extends fc.Arbitrary<infer T> ? T : never) {
  const clock = createFakeClock();
  const transport = memoryTransport({ clock });
  const requests: ApprovalRequest[] = [];
  const results: AgentHandlerResult[] = [];
  const executed: string[] = [];
  const sent: (readonly Message[])[] = [];
  const host = new DyingProcess(deaths);
  const provider: ModelProvider = {
    async chat(messages) {
      await host.act();
      sent.push([...messages]);
      const turn = messages.filter(({ role }) => role === 'assistant').length;
      const names = turns[turn];
      if (names === undefined) return { content: 'done', usage, finishReason: 'stop' };
      const toolCalls = names.map((name, index) => ({
        id: '',
        name: name === 'wrong' ? 'pay' : name,
        arguments: JSON.stringify(name === 'wrong' ? { n: 'x' } : { n: turn * 10 + index }),
      }));
      return { content: '', toolCalls, usage, finishReason: 'tool_calls' };
    },
  };
  const tools = ['look', 'pay', 'refund'].map((name) =>
    createTool({
      name,
      description: '',
      parameters: { type: 'object', properties: { n: { type: 'number' } } },
      ...(name === 'refund' && { needsApproval: true }),
      execute: async ({ n }: { n: number }) => {
        await host.act();
        executed.push(`${name} ${n}`);
        return `${name} ${n}`;
      },
    }),
  );
  async function start(): Promise<Hub> {
    const hub = createHub({ transport });
    const requested = hub.event<ApprovalRequest>({
      type: 'requested',
      handler: ({ payload }) => void requests.push(payload),
    });
    const decided = hub.event<ApprovalDecided>({ type: 'decided', key: ({ approvalId }) => approvalId });
    const agent = createAgent({
      name: 'a',
      systemPrompt: '',
      provider,
      model: { model: 'm' },
      tools,
      tokenBudget: 10_000,
      maxRepeats: 100,
      clock,
    });
    const handler = agent.asHandler({ approvals: { requested, decided, timeoutMs } });
    hub.event({ type: 'asked', handler, onSuccess: 'answered' });
    hub.event<AgentHandlerResult>({ type: 'answered', handler: ({ payload }) => void results.push(payload) });
    await hub.start();
    return hub;
  }
  let hub = await start();
  await hub.emit('asked', 'go');
  let decidedSoFar = 0;
  for (let round = 0; results.length === 0 && round < 100; round++) {
    await clock.settle();
    if (host.isDead) {
      await hub.stop({ drainMs: 0 });
      host.restart();
      hub = await start();
      continue;
    }
    const request = requests[decidedSoFar];
    if (request === undefined) continue;
    const decision = decisions[decidedSoFar++];
    const payload = { approvalId: request.approvalId, approved: decision !== 'refused' };
    if (decision === 'late') await clock.advance(timeoutMs);
    for (let time = 0; time < (decision === 'twice' ? 2 : 1); time++) await hub.emit('decided', payload);
  }
  await hub.stop({ drainMs: 0 });
  return { requests, results, executed, sent };
}

test('whatever a model does, and wherever processes die, nothing that was recorded is repeated', async () => {
  await fc.assert(
    fc.asyncProperty(story, async (given) => {
      const { requests, results, executed, sent } = await tell(given);
      const calls = given.turns.flatMap((names, turn) => names.map((name, index) => `${name} ${turn * 10 + index}`));
      expect(results).toHaveLength(1);
      // Each answer is paid once.
      expect(sent).toHaveLength(given.turns.length + 1);
      expect(results[0]?.tokenUsage.totalTokens).toBe(15 * (given.turns.length + 1));
      // Each request is emitted once, and each call that may run is executed once.
      const refunds = calls.filter((call) => call.startsWith('refund'));
      expect(requests).toHaveLength(refunds.length);
      expect(new Set(executed).size).toBe(executed.length);
      expect(executed.filter((call) => !call.startsWith('refund')).sort()).toEqual(
        calls.filter((call) => /^(look|pay)/.test(call)).sort(),
      );
      // A late decision, and those of the same turn that its timeout passes, count as refused.
      const decisions = given.decisions.slice(0, refunds.length);
      const executedRefunds = executed.filter((call) => call.startsWith('refund')).length;
      if (!decisions.includes('late')) {
        expect(executedRefunds).toBe(decisions.filter((decision) => decision !== 'refused').length);
      }
      expect(executedRefunds).toBeLessThanOrEqual(
        decisions.filter((one) => one !== 'refused' && one !== 'late').length,
      );
      // The transcript is well paired.
      const last = sent.at(-1) ?? [];
      const answered = last.filter(({ role }) => role === 'tool').map(({ toolCallId }) => toolCallId);
      const called = last.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id));
      expect(answered).toEqual(called);
      expect(new Set(called).size).toBe(called.length);
    }),
    { numRuns: runs(60) },
  );
});
