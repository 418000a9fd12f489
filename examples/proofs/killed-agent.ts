import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createEvent, createHub } from 'hubline';
import { type AgentHandlerResult, createAgent, createTool } from 'hubline/agents';
import { sqliteTransport } from 'hubline/sqlite';
import { scriptedProvider } from 'hubline/testing';

const [role = 'parent'] = process.argv.slice(2);
const call = { toolCalls: [{ name: 'look_up', arguments: {} }] };
const die = (): string => {
  process.kill(process.pid, 'SIGKILL');
  return '';
};
// The child asks its model three times and dies in the third turn. The parent must ask for that turn only.
const provider = scriptedProvider(role === 'child' ? [call, call, die] : ['It leaves tomorrow.']);
const agent = createAgent({
  name: 'support',
  systemPrompt: 'You answer customers.',
  provider,
  model: { model: 'script' },
  tools: [
    createTool({
      name: 'look_up',
      description: 'Looks an order up',
      parameters: { type: 'object' },
      execute: async () => 'packed',
    }),
  ],
});
const answered = createEvent<AgentHandlerResult>({ type: 'ticket.answered' });
const hub = createHub({
  service: 'support',
  transport: sqliteTransport({ file: process.env['HUB_FILE'] ?? 'killed-agent.db' }),
});
hub.event({ type: 'ticket.opened', handler: agent.asHandler(), onSuccess: answered });
const done = new Promise<AgentHandlerResult>((resolve) => {
  hub.event(answered, { handler: ({ payload }) => resolve(payload) });
});
if (role === 'child') {
  await hub.start();
  await hub.emit('ticket.opened', 'When does my order leave?');
} else {
  await once(
    spawn(process.execPath, [...process.execArgv, fileURLToPath(import.meta.url), 'child'], { stdio: 'inherit' }),
    'exit',
  );
  await hub.start();
  const { output } = await done;
  console.log(`${output} ${provider.calls.length} call after the crash`);
  await hub.stop();
}
