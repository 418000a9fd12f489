import { createAgent, createTool } from 'hubline/agents';
import { scriptedProvider } from 'hubline/testing';
import { z } from 'zod';

const findOrder = createTool({
  name: 'find_order',
  description: 'Finds an order by its id',
  parameters: z.object({ id: z.string() }),
  execute: ({ id }) => ({ id, status: 'shipped' }),
});
const provider = scriptedProvider([
  { toolCalls: [{ name: 'find_order', arguments: { id: 'A-1' } }] },
  '{"status":"shipped","isUrgent":false}',
]);
const agent = createAgent({
  name: 'support',
  systemPrompt: 'You answer customers.',
  provider,
  model: { model: 'script' },
  tools: [findOrder],
  outputSchema: z.object({ status: z.string(), isUrgent: z.boolean() }),
});
const result = await agent.run('Where is A-1?');
if (result.status !== 'completed') throw new Error(result.status, { cause: result.error });
console.log(result.data.status.toUpperCase(), result.data.isUrgent ? 'urgent' : 'calm');
console.log(result.toolCalls.map(({ name }) => name).join());
provider.assertDone();
