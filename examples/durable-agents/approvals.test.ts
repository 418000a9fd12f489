import type { ApprovalRequest } from 'hubline/agents';
import { scriptedProvider } from 'hubline/testing';
import { expect, test, vi } from 'vitest';
import { createRefundHub, decide } from './approvals.js';

test('a big refund waits for the clerk, and a small one does not', async () => {
  const refund = (order: string, cents: number) => ({ name: 'refund', arguments: { order, cents } });
  const provider = scriptedProvider([{ toolCalls: [refund('o-1', 900), refund('o-2', 9_000)] }, 'Both are refunded.']);
  const refunded: [string, number][] = [];
  const requests: ApprovalRequest[] = [];
  const hub = createRefundHub(
    provider,
    async (order, cents) => {
      refunded.push([order, cents]);
      return 'refunded';
    },
    (request) => requests.push(request),
  );
  await hub.start();
  await hub.emit('ticket.opened', 'Both orders arrived broken');
  await vi.waitFor(() => expect(requests).toMatchObject([{ tool: 'refund', arguments: { order: 'o-2' } }]));
  await vi.waitFor(async () => expect(await hub.metrics('ticket.opened')).toMatchObject({ suspended: 1 }));
  expect(refunded).toEqual([['o-1', 900]]);
  await decide(hub, requests[0]?.approvalId ?? '', true);
  await vi.waitFor(async () => expect(await hub.metrics('ticket.opened')).toMatchObject({ completed: 1 }));
  expect(refunded).toEqual([
    ['o-1', 900],
    ['o-2', 9_000],
  ]);
  await hub.stop();
});
