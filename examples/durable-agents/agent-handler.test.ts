import { scriptedProvider } from 'hubline/testing';
import { expect, test, vi } from 'vitest';
import { createSupportHub } from './agent-handler.js';

test('the agent answers a ticket', async () => {
  const answers: string[] = [];
  const hub = createSupportHub(scriptedProvider(['Turn it off and on again.']), (answer) => answers.push(answer));
  await hub.start();
  await hub.emit('ticket.opened', { input: 'It does not work' });
  await vi.waitFor(() => expect(answers).toEqual(['Turn it off and on again.']));
  await hub.stop();
});
