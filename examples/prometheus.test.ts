import { expect, test, vi } from 'vitest';
import { freePort } from '../scripts/listen-locally.js';
import { startExample } from './testing/start-example.js';

test('every scrape reads exact counts, concurrent ones included', async () => {
  const example = startExample('prometheus.ts', { env: { PORT: String(await freePort()) } });
  const url = await example.url;
  const scrape = async (): Promise<string[]> => {
    const response = await fetch(url);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    return (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  };
  const labels = '{kind="event",name="card.charged"}';
  const settled = [
    `hubline_received_total${labels} 3`,
    `hubline_completed_total${labels} 2`,
    `hubline_failed_total${labels} 1`,
    `hubline_retried_total${labels} 1`,
    `hubline_pending${labels} 0`,
    `hubline_active${labels} 0`,
  ];
  await vi.waitFor(async () => expect(await scrape()).toEqual(settled));
  expect(await Promise.all([scrape(), scrape(), scrape()])).toEqual([settled, settled, settled]);
  expect((await fetch(new URL('/', url))).status).toBe(404);
  expect((await example.stop()).exitCode).toBe(0);
});
