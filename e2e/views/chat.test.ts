import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Page } from 'playwright/test';
import { startRedisServer } from '../../scripts/redis-server.js';
import { expect, test } from '../testing/fixtures.js';
import { serveChat } from '../testing/serve-chat.js';

/** Worker process that answers chats. */
interface ChatWorker {
  open(gate: string): void;
  kill(): Promise<void>;
}

async function startWorker(url: string, name: string, reports: string[]): Promise<ChatWorker> {
  const program = join(import.meta.dirname, '../testing/chat-worker.ts');
  const child: ChildProcess = fork(program, [url, name], { execArgv: ['--import', 'tsx'] });
  const started = new Promise<void>((resolve) => {
    child.on('message', (what: string) => (what === 'started' ? resolve() : reports.push(what)));
  });
  await started;
  return {
    open: (gate) => void child.send(gate),
    async kill() {
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

const answer = (tab: Page) => tab.locator('li').last();

test('a chat survives reloads in the middle of a text, a call and an approval, two tabs, and workers that are killed', {
  tag: '@any-width',
}, async ({ browser }) => {
  const redis = await startRedisServer();
  const web = await serveChat(redis.url);
  const reports: string[] = [];
  let worker = await startWorker(redis.url, 'Ann', reports);
  const tab = await browser.newPage();
  await tab.goto(`${web.url}/chat-1`);
  await tab.getByLabel('Question').fill('Refund order 7');
  await tab.getByRole('button', { name: 'Send' }).click();
  const other = await browser.newPage();
  const expectBoth = async (text: string): Promise<void> => {
    for (const page of [tab, other]) await expect(answer(page)).toHaveText(text);
  };

  await test.step('a reload in the middle of a text', async () => {
    await expect(answer(tab)).toHaveText('Ann looks ');
    await tab.reload();
    await expect(tab.locator('li')).toHaveText(['Refund order 7', 'Ann looks ']);
    await other.goto(`${web.url}/chat-1`);
    await expectBoth('Ann looks ');
  });

  await test.step('the worker is killed in the middle of a text, which another one writes anew', async () => {
    await worker.kill();
    worker = await startWorker(redis.url, 'Bob', reports);
    await expectBoth('Bob looks ');
    for (const page of [tab, other]) await expect(page.locator('li')).toHaveCount(2);
  });

  await test.step('a reload in the middle of a call', async () => {
    worker.open('text');
    await expectBoth('Bob looks it up. [lookup: input-available] ');
    await tab.reload();
    await expectBoth('Bob looks it up. [lookup: input-available] ');
    worker.open('lookup');
  });

  const waiting = 'Bob looks it up. [lookup: output-available] Found it. [refund: approval-requested] ApproveRefuse';
  await test.step('a reload in the middle of an approval, while no worker lives', async () => {
    await expectBoth(waiting);
    await worker.kill();
    await tab.reload();
    await expectBoth(waiting);
    worker = await startWorker(redis.url, 'Cid', reports);
    await tab.getByRole('button', { name: 'Approve' }).click();
  });

  await test.step('both tabs have the same answer, also after a reload', async () => {
    const whole = 'Bob looks it up. [lookup: output-available] Found it. [refund: output-available] Refunded by Cid.';
    await expectBoth(whole);
    await other.reload();
    await expectBoth(whole);
    await expect(other.getByRole('status')).toHaveText('ready');
    // The killed worker's call of the model is made again, and nothing else.
    expect(reports).toEqual(['turn 0', 'turn 0', 'lookup', 'turn 1', 'refund', 'turn 2']);
  });

  await tab.close();
  await other.close();
  await worker.kill();
  await web.close();
  await redis.release();
});

test('leaving the page does not stop the answer, and the button does', { tag: '@any-width' }, async ({ browser }) => {
  const redis = await startRedisServer();
  const web = await serveChat(redis.url);
  const worker = await startWorker(redis.url, 'Ann', []);
  const tab = await browser.newPage();
  await tab.goto(`${web.url}/chat-1`);
  await tab.getByLabel('Question').fill('Refund order 7');
  await tab.getByRole('button', { name: 'Send' }).click();
  await expect(answer(tab)).toHaveText('Ann looks ');
  await tab.goto('about:blank');
  worker.open('text');
  await tab.goto(`${web.url}/chat-1`);
  await expect(answer(tab)).toHaveText('Ann looks it up. [lookup: input-available] ');
  await tab.getByRole('button', { name: 'Stop' }).click();
  await expect(tab.getByRole('status')).toHaveText('ready');
  await expect(answer(tab)).toHaveText('Ann looks it up. [lookup: input-available] ');
  await tab.close();
  await worker.kill();
  await web.close();
  await redis.release();
});
