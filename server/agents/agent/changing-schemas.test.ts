import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import { expect, test } from 'vitest';
import { testHub } from '../../hub/hub.fixture.js';
import { agentOf } from '../scripted-agent.fixture.js';
import { createTool } from '../tools/tool.js';
import type { ApprovalDecided, ApprovalRequest } from './approval.js';

type Schema = { '~standard': StandardSchemaV1.Props<object> & StandardJSONSchemaV1.Props<object> };

/** A schema that refuses the first input, and accepts it later: it looks something up that another call creates. */
function lookUp(): Schema {
  let calls = 0;
  const jsonSchema = () => ({ type: 'object' });
  return {
    '~standard': {
      version: 1,
      vendor: 'test',
      jsonSchema: { input: jsonSchema, output: jsonSchema },
      async validate(value) {
        calls += 1;
        return calls === 1 ? { issues: [{ message: 'does not exist', path: ['order'] }] } : { value: Object(value) };
      },
    },
  };
}

function refunds(): { executed: unknown[]; script: Parameters<typeof agentOf>[0]; tools: ReturnType<typeof toolOf>[] } {
  const executed: unknown[] = [];
  const script = [{ toolCalls: [{ name: 'refund', arguments: { order: 7 } }] }, 'done'];
  return { executed, script, tools: [toolOf(executed)] };
}

function toolOf(executed: unknown[]) {
  return createTool({
    name: 'refund',
    description: '',
    parameters: lookUp(),
    needsApproval: () => true,
    execute: (input) => executed.push(input),
  });
}

const expected = expect.stringContaining('the arguments of refund do not match its parameters');

test('a call that was not valid when it was judged is not executed, if nobody was asked', async () => {
  const { executed, script, tools } = refunds();
  const asked: unknown[] = [];
  const onApproval = (request: unknown) => {
    asked.push(request);
    return { approved: false };
  };
  const { toolCalls, messages } = await agentOf(script, { tools }).agent.run('x', { onApproval });
  expect({ executed, asked }).toEqual({ executed: [], asked: [] });
  expect(toolCalls).toMatchObject([{ name: 'refund', error: expected }]);
  expect(messages.find(({ role }) => role === 'tool')?.content).toContain('order does not exist');
});

test('nor is it executed in a durable run', async () => {
  const { hub, clock } = testHub();
  const { executed, script, tools } = refunds();
  const requests: unknown[] = [];
  const requested = hub.event<ApprovalRequest>({
    type: 'requested',
    handler: ({ payload }) => void requests.push(payload),
  });
  const decided = hub.event<ApprovalDecided>({ type: 'decided', key: ({ approvalId }) => approvalId, handler() {} });
  const { agent, provider } = agentOf(script, { tools });
  hub.event({ type: 'asked', handler: agent.asHandler({ approvals: { requested, decided } }) });
  await hub.start();
  await hub.emit('asked', 'go');
  await clock.advance(1);
  expect({ executed, requests }).toEqual({ executed: [], requests: [] });
  expect(provider.calls[1]?.messages.at(-1)?.content).toEqual(expected);
  expect(await hub.metrics('asked')).toMatchObject({ completed: 1 });
  await hub.stop();
});
