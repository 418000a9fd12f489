import { describe, expect, test } from 'vitest';
import { eventually } from '../testing/eventually.js';
import { everyTransport } from '../testing/every-transport.js';
import { startHub } from '../testing/start-hub.js';
import { createReviewHub, orderPlaced, refundAsked } from './large-orders.js';

describe.each(everyTransport)('on %s', (_name, options) => {
  test('declares foreign orders, and reviews large ones and large refunds', async () => {
    const declared: string[] = [];
    const reviewed: string[] = [];
    const work = {
      declare: async (id: string): Promise<void> => void declared.push(id),
      review: async (id: string, reason: string | undefined): Promise<string> => {
        reviewed.push(`${id} ${reason}`);
        return 'accepted';
      },
    };
    const hub = await startHub(createReviewHub(work, options()));
    await hub.emit(orderPlaced, { id: 'o-1', cents: 200_000, country: 'NO' });
    await hub.emit(orderPlaced, { id: 'o-2', cents: 500, country: 'SE' });
    await hub.emit(refundAsked, { id: 'r-1', cents: 20_000 });
    await hub.emit(refundAsked, { id: 'r-2', cents: 100 });
    await eventually(async () => {
      expect(await hub.metrics('order.placed')).toMatchObject({ received: 2, completed: 2, filtered: 1 });
      const { workflows } = await hub.introspect();
      expect(workflows[0]?.metrics).toMatchObject({ received: 4, completed: 4, filtered: 2 });
    });
    expect(declared).toEqual(['o-2']);
    expect(reviewed.sort()).toEqual(['o-1 order.placed', 'r-1 refund.asked']);
  });
});
