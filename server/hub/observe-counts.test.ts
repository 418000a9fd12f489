import { describe, expect, it, vi } from 'vitest';
import { recordTelemetry } from '../testing/record-telemetry.fixture.js';
import { testHub } from './hub.fixture.js';
import { createWorkflow } from './runs/workflow.js';

describe('metrics', () => {
  const event = { 'messaging.system': 'hubline', 'messaging.destination.name': 'ordered', 'hubline.kind': 'event' };
  const send = { ...event, 'messaging.operation.name': 'send', 'messaging.operation.type': 'send' };
  const handled = (service: string) => ({ ...event, 'messaging.consumer.group.name': service });

  it('count each outcome once with several hubs', async () => {
    const telemetry = recordTelemetry();
    const { hub: first, transport, clock } = testHub({ service: 'shop' });
    const { hub: second } = testHub({ service: 'shop', transport });
    const { hub: other } = testHub({ service: 'audit', transport });
    for (const hub of [first, second, other]) {
      hub.event<number>({
        type: 'ordered',
        retry: { maxAttempts: 2, initialDelayMs: 1_000, jitter: false },
        handler({ payload, attempt }) {
          if (payload === 1 || (payload === 2 && attempt === 1)) throw new RangeError('no');
        },
      });
      await hub.start();
    }
    for (const n of [0, 1, 2]) await first.emit('ordered', n);
    await first.emit('ordered', 3, { delayMs: 60_000 });
    await clock.advance(1_000);
    await vi.waitFor(async () => expect(await first.metrics('ordered')).toMatchObject({ completed: 4, failed: 2 }));

    const each = (value: unknown) => [
      { attributes: handled('shop'), value },
      { attributes: handled('audit'), value },
    ];
    expect(await telemetry.points('messaging.client.sent.messages')).toEqual([{ attributes: send, value: 4 }]);
    expect(await telemetry.points('hubline.events.completed')).toEqual(each(2));
    expect(await telemetry.points('hubline.events.failed')).toEqual(each(1));
    expect(await telemetry.points('hubline.events.retried')).toEqual(each(2));
    expect(await telemetry.points('hubline.events.pending')).toEqual(each(1));
    expect(await telemetry.points('hubline.events.active')).toEqual(each(0));
    const consumed = await telemetry.points('messaging.client.consumed.messages');
    expect(consumed.map(({ value }) => value)).toEqual([5, 5]);
    const durations = await telemetry.points('messaging.process.duration');
    const ofShop = durations.filter(({ attributes }) => attributes['messaging.consumer.group.name'] === 'shop');
    expect(ofShop.map(({ attributes, value }) => [attributes['error.type'], value])).toEqual([
      [undefined, { count: 2, sum: expect.any(Number) }],
      ['RangeError', { count: 3, sum: expect.any(Number) }],
    ]);
  });

  it('count a cancelled run as failed, and are not observed after the hub has stopped', async () => {
    const telemetry = recordTelemetry();
    const { hub } = testHub();
    hub.workflow(createWorkflow({ name: 'wait', steps: [{ name: 'long', handler: () => new Promise(() => {}) }] }));
    await hub.start();
    const run = await hub.startWorkflow('wait', null);
    await run.cancel();
    expect(await telemetry.points('hubline.events.failed')).toMatchObject([
      { attributes: { 'messaging.destination.name': 'wait', 'hubline.kind': 'workflow' }, value: 1 },
    ]);
    expect(await telemetry.points('hubline.events.pending')).toHaveLength(1);
    const counts = vi.spyOn(hub.transport.counts, 'get');
    await hub.stop();
    await telemetry.points('hubline.events.pending');
    expect(counts).not.toHaveBeenCalled();
  });
});
