import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { createHub, createWorkflow, type Hub, type RunCtx } from 'hubline';
import { createOutputServer } from '../../examples/workflows/live-output.js';
import { built } from '../../scripts/page/built-classes.js';
import { expect, test } from '../testing/fixtures.js';

// The id of the run is in the address of the page, as it is in that of an application.
const page = `<!doctype html><html lang="en"><title>Letter</title><p id="text"></p><p id="end"></p><script>
  const source = new EventSource('/output' + location.pathname);
  source.onmessage = ({ data }) => { document.getElementById('text').textContent += JSON.parse(data).data; };
  source.addEventListener('end', ({ data }) => { document.getElementById('end').textContent = JSON.parse(data).status; });
</script>`;

/** Serves the page, and the output of all runs. */
async function serveOutput(hub: Hub): Promise<{ readonly url: string; readonly server: Server }> {
  const output = createOutputServer(hub, () => 'ada');
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/output/') !== true) {
      response.writeHead(200, { 'content-type': 'text/html' }).end(page);
      return;
    }
    request.url = request.url.slice('/output'.length);
    request.headers['x-user'] = 'ada';
    output.emit('request', request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`, server };
}

test('a page that is reloaded in the middle of a run misses and repeats nothing', { tag: '@any-width' }, async ({
  browser,
}) => {
  const tab = await browser.newPage();
  let writeOn = (): void => {};
  const middle = new Promise<void>((resolve) => {
    writeOn = resolve;
  });
  const letter = createWorkflow({
    name: 'letter',
    run: async ({ step }) => {
      for (const word of ['Dear ', 'Ada, ']) await step.publish(word);
      await step.run('write', async ({ publish }) => {
        for (let i = 0; i < 50; i += 1) await publish(`${i} `);
        await middle;
        for (let i = 50; i < 100; i += 1) await publish(`${i} `);
      });
      await step.publish('Bye');
    },
  });
  const hub = createHub({ logger: false });
  hub.workflow(letter);
  await hub.start();
  const { url, server } = await serveOutput(hub);
  const { runId } = await hub.startWorkflow(letter, null);
  const numbers = (to: number): string => Array.from({ length: to }, (_, i) => `${i} `).join('');
  await tab.goto(`${url}/${runId}`);
  await expect(tab.locator('#text')).toHaveText(`Dear Ada, ${numbers(50).trim()}`);
  await tab.reload();
  await expect(tab.locator('#text')).toHaveText(`Dear Ada, ${numbers(50).trim()}`);
  // The browser connects again by itself, and says what it has.
  server.closeAllConnections();
  await tab.waitForResponse((response) => response.url().includes('/output/'));
  writeOn();
  await expect(tab.locator('#end')).toHaveText('completed');
  await expect(tab.locator('#text')).toHaveText(`Dear Ada, ${numbers(100)}Bye`);
  await tab.close();
  server.close();
  server.closeAllConnections();
  await hub.stop();
});

test('the trace of a run shows its progress as a bar', async ({ page, serve }) => {
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const pack = createWorkflow({
    name: 'pack',
    run: async ({ step }: RunCtx<null>) => {
      await step.publish({ progress: 0.4, message: `box 2 of 5 for ada@example.com ${'x'.repeat(300)}` });
      await step.run('rest', () => ended);
    },
  });
  const dashboard = await serve({ register: (hub) => void hub.workflow(pack) });
  const { runId } = await dashboard.hub.startWorkflow(pack, null);
  await page.goto(`${dashboard.origin}/#/requests/${runId}`);
  const row = page.locator(built('.trace-row')).first();
  await expect(row.getByRole('meter', { name: 'Progress 40%' })).toBeVisible();
  await expect(row).toContainText('box 2 of 5');
  end();
  await expect(row).toContainText('Completed');
  await expect(row.getByRole('meter')).toHaveCount(0);
});
