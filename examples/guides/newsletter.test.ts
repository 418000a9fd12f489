import { describe, expect, test, vi } from 'vitest';
import { everyTransport } from '../testing/every-transport.js';
import { startHub } from '../testing/start-hub.js';
import { createNewsletterHub } from './newsletter.js';

const everyone = Array.from({ length: 500 }, (_, index) => `reader-${index}@example.com`);

describe.each(everyTransport)('on %s', (_name, options) => {
  test('sends 500 mails, at most 20 at once, and one summary after the last', async () => {
    const mails: string[] = [];
    const summaries: string[] = [];
    const keys = new Set<string>();
    const most = { active: 0, atOnce: 0 };
    const mail = async (recipient: string, _issue: number, key: string): Promise<boolean> => {
      most.active += 1;
      most.atOnce = Math.max(most.atOnce, most.active);
      await new Promise((resolve) => setImmediate(resolve));
      most.active -= 1;
      const isFirst = !keys.has(key);
      keys.add(key);
      if (recipient.startsWith('reader-7@') && isFirst) throw new Error('mail service is busy');
      mails.push(recipient);
      return !recipient.startsWith('reader-13@');
    };
    const tell = async (summary: string): Promise<void> => void summaries.push(`${summary}, after ${mails.length}`);
    const hub = await startHub(createNewsletterHub({ recipients: async () => everyone, mail, tell }, options()));
    await hub.emit('issue.published', { issue: 4 });
    await vi.waitFor(() => expect(summaries).toEqual(['issue 4: 499 of 500 sent, after 500']), 30_000);
    expect([...mails].sort()).toEqual([...everyone].sort());
    expect(keys.size).toBe(500);
    expect(most.atOnce).toBeLessThanOrEqual(20);
    expect(most.atOnce).toBeGreaterThan(1);
  });
});
