import { once } from 'node:events';
import { createHub } from 'hubline';
import { expect, onTestFinished, test } from 'vitest';
import { createOutputServer, readPages, reportWorkflow } from './live-output.js';

test('pages are read as they are written, and only by the owner of the run', async () => {
  const hub = createHub({ logger: false });
  const report = hub.workflow(reportWorkflow(3, async (topic, page) => `${topic} ${page}`));
  await hub.start();
  onTestFinished(async () => void (await hub.stop()));
  const { runId } = await hub.startWorkflow(report, 'tides');
  const pages = await readPages(hub, runId, 0);
  expect(pages.map(({ text }) => text)).toEqual(['tides 1', 'tides 2', 'tides 3']);
  expect(await readPages(hub, runId, 4)).toEqual([{ page: 3, text: 'tides 3' }]);

  const server = createOutputServer(hub, (id) => (id === runId ? 'ada' : undefined)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const url = `http://127.0.0.1:${port}/${runId}`;
  expect((await fetch(url, { headers: { 'x-user': 'eve' } })).status).toBe(403);
  const text = await (await fetch(url, { headers: { 'x-user': 'ada', 'last-event-id': '4' } })).text();
  expect(text).toContain('"data":{"page":3,"text":"tides 3"}');
  expect(text).not.toContain('tides 2');
});
