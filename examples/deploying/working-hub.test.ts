import { createHub } from 'hubline';
import { describe, expect, test } from 'vitest';
import { everyTransport } from '../testing/every-transport.js';
import { startHub } from '../testing/start-hub.js';
import { orderPlaced } from './definitions.js';
import { packWaitingOrders } from './working-hub.js';

describe.each(everyTransport)('on %s', (_name, createOptions) => {
  test('each call packs the orders that came since the one before', async () => {
    const options = createOptions();
    const web = createHub({ service: 'web', ...options });
    web.event(orderPlaced, { subscribers: ['orders'] });
    await startHub(web);
    const packed: string[] = [];
    for (const id of ['A-1', 'A-2']) {
      await web.emit(orderPlaced, { id, items: ['teapot'] });
      const result = await packWaitingOrders(options, (order) => packed.push(order));
      expect(result).toMatchObject({ completed: 1, failed: 0, endedBy: 'idle' });
    }
    expect(packed).toEqual(['A-1', 'A-2']);
  });
});
