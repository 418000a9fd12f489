import { setTimeout as delay } from 'node:timers/promises';
import { createHub } from 'hubline';
import { createAgent, createTool, type ModelProvider } from 'hubline/agents';
import { redisTransport } from 'hubline/redis';
import { answerChats } from '../../examples/agents/resumable-chat.js';

/** Gates that the test opens by their names: what the worker does waits in front of them. */
const open = new Set<string>();
process.on('message', (name: string) => open.add(name));

async function pass(gate: string): Promise<void> {
  while (!open.has(gate)) await delay(10);
}

function report(what: string): void {
  process.send?.(what);
}

const [, , url = '', name = ''] = process.argv;

/** Model that looks an order up, refunds it, and says so. */
const provider: ModelProvider = {
  chat: () => Promise.reject(new Error('the answer must be streamed')),
  async *chatStream(messages) {
    const turn = messages.filter(({ role }) => role === 'tool').length;
    report(`turn ${turn}`);
    if (turn === 0) {
      yield { content: `${name} looks ` };
      await pass('text');
      yield { content: 'it up. ' };
      yield { toolCalls: [{ id: 'call-1', name: 'lookup', arguments: '{"order":7}' }], finishReason: 'tool_calls' };
    } else if (turn === 1) {
      yield { content: 'Found it. ' };
      yield { toolCalls: [{ id: 'call-2', name: 'refund', arguments: '{"order":7}' }], finishReason: 'tool_calls' };
    } else {
      yield { content: 'Refunded by ' };
      yield { content: `${name}.`, finishReason: 'stop' };
    }
  },
};

const parameters = { type: 'object', properties: { order: { type: 'integer' } } };
const lookup = createTool({
  name: 'lookup',
  description: 'Looks an order up',
  parameters,
  execute: async () => {
    await pass('lookup');
    report('lookup');
    return { cents: 4_200 };
  },
});
const refund = createTool({
  name: 'refund',
  description: 'Refunds an order',
  parameters,
  needsApproval: true,
  execute: async () => {
    report('refund');
    return 'done';
  },
});

const agent = createAgent({
  name: 'assistant',
  systemPrompt: 'You refund orders.',
  provider,
  model: { model: 'm' },
  tools: [lookup, refund],
});
const transport = redisTransport({ url, lockDurationMs: 1_000, stalledIntervalMs: 500 });
const hub = createHub({ transport, service: 'assistant', logger: false });
answerChats(hub, agent);
await hub.start();
report('started');
