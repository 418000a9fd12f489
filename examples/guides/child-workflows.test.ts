import { describe, expect, test } from 'vitest';
import { everyTransport } from '../testing/every-transport.js';
import { startHub } from '../testing/start-hub.js';
import { createInvoiceHub } from './child-workflows.js';

describe.each(everyTransport)('on %s', (_name, options) => {
  test('uses the result of a child run', async () => {
    const log: string[] = [];
    const write = async (orderId: string) => ({ number: `I-${orderId}` });
    const archive = async (number: string): Promise<void> => void log.push(`archived ${number}`);
    const hub = await startHub(createInvoiceHub({ write, archive, tell: (text) => void log.push(text) }, options()));
    const run = await hub.startWorkflow('close-order', { id: '7' });
    await run.result();
    expect(log).toEqual(['archived I-7', '7: invoice I-7']);
    expect((await run.status()).steps.map(({ name, kind, status }) => [name, kind, status])).toEqual([
      ['invoice', 'invoke', 'completed'],
      ['tell', 'run', 'completed'],
    ]);
    expect(await hub.introspect()).toMatchObject({
      workflows: [
        { name: 'invoice', metrics: { completed: 1 } },
        { name: 'close-order', metrics: { completed: 1 } },
      ],
    });
  });

  test('continues without the child run if it fails', async () => {
    const log: string[] = [];
    const write = () => Promise.reject(new Error('the tax office does not answer'));
    const hub = await startHub(
      createInvoiceHub({ write, archive: async () => {}, tell: (text) => void log.push(text) }, options()),
    );
    await (await hub.startWorkflow('close-order', { id: '7' })).result();
    expect(log).toEqual([expect.stringMatching(/^7: .*the tax office does not answer$/)]);
  });
});
