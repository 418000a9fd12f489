import { describe, expect, test } from 'vitest';
import { everyTransport } from '../testing/every-transport.js';
import { startHub } from '../testing/start-hub.js';
import { createLabelHub, printAgain } from './forked-run.js';

describe.each(everyTransport)('on %s', (_name, options) => {
  test('a fork prints another label for the same payment', async () => {
    const calls: string[] = [];
    const note = async (text: string): Promise<string> => `${text} ${calls.push(text)}`;
    const hub = createLabelHub({ charge: () => note('payment'), label: () => note('label') }, options());
    await startHub(hub);
    const run = await hub.startWorkflow('ship', 'A-1');
    expect(await run.result()).toEqual({ payment: 'payment 1', label: 'label 2' });
    expect(await printAgain(hub, run.runId, 'ada')).toEqual({ payment: 'payment 1', label: 'label 3' });
    expect(calls).toEqual(['payment', 'label', 'label']);
    expect(await hub.audit()).toMatchObject([{ action: 'fork', by: 'ada', target: { id: run.runId, step: 'label' } }]);
  });
});
