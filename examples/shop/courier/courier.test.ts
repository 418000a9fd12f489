import { expect, onTestFinished, test } from 'vitest';
import { chooseModels } from '../models/models.js';
import { createSupportAgent } from '../support/support.js';
import { connectCourier } from './courier.js';
import { startCourierServer } from './courier-server.js';

test('the courier desk tracks parcels through the MCP server of the courier, which refuses strangers', async () => {
  const server = await startCourierServer();
  onTestFinished(() => server.close());
  const courier = await connectCourier(server);
  onTestFinished(() => courier.close());
  const agent = createSupportAgent(chooseModels({}), courier.tools);
  const { toolCalls, status } = await agent.run('Where is order A-17?', { onApproval: () => ({ approved: true }) });
  expect(status).toBe('completed');
  expect(toolCalls.map(({ name, error }) => error ?? name)).toEqual(['look_up_order', 'delegate']);
  expect(toolCalls[1]?.result).toContain('Bergen');
  await expect(connectCourier({ ...server, token: 'guess' })).rejects.toMatchObject({ statusCode: 401 });
});
