import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { EventConfig } from '../events/event.js';
import { type LogLine, type TestHub, testHub } from '../hub.fixture.js';
import type { Hub } from '../hub.js';

async function startWith(hub: Hub, config: Omit<EventConfig, 'type' | 'schema'>): Promise<void> {
  hub.event({ type: 'charge', ...config });
  hub.event({ type: 'same', handler: () => {}, concurrency: 3 });
  await hub.start();
  // The comparison runs after start.
  await setImmediate();
}

function warnings({ log }: TestHub): LogLine[] {
  return log.filter(({ level }) => level === 'warn');
}

const handler = (): void => {};

it('warns at start, once per type, if another hub of the service has different settings', async () => {
  const first = testHub({ service: 'shop' });
  const { transport } = first;
  await startWith(first.hub, { handler, concurrency: 2, rate: { max: 5, perMs: 1_000 }, retry: { maxAttempts: 3 } });
  await startWith(testHub({ service: 'shop', transport }).hub, { handler, concurrency: 9 });
  const last = testHub({ service: 'shop', transport });
  await startWith(last.hub, { handler, concurrency: 4, rate: { max: 5, perMs: 1_000 }, retry: { maxAttempts: 3 } });
  expect(warnings(last)).toMatchObject([
    {
      fields: { eventType: 'charge', here: { concurrency: 4 }, elsewhere: { concurrency: 2 } },
      message: expect.stringMatching(
        /^event "charge" .* service "shop": {"concurrency":4} in this hub, {"concurrency":2} in the other/,
      ),
    },
  ]);
  expect(warnings(first)).toEqual([]);
});

it('compares settings that only one hub has', async () => {
  const first = testHub({ service: 'shop' });
  await startWith(first.hub, { handler, rate: { max: 5, perMs: 1_000 } });
  const second = testHub({ service: 'shop', transport: first.transport });
  await startWith(second.hub, { handler, timeoutMs: 50, retry: { maxAttempts: 2 } });
  expect(warnings(second)).toMatchObject([
    {
      fields: {
        here: { rate: null, timeoutMs: 50, retry: { maxAttempts: 2 } },
        elsewhere: { rate: { max: 5, perMs: 1_000 }, timeoutMs: null, retry: null },
      },
    },
  ]);
});

it('does not warn about equal settings, another service, or a hub that does not handle the type', async () => {
  const first = testHub({ service: 'shop' });
  const { transport } = first;
  await startWith(first.hub, { handler, concurrency: 2 });
  const others = [
    [testHub({ service: 'shop', transport }), { handler, concurrency: 2 }],
    [testHub({ service: 'mail', transport }), { handler, concurrency: 5 }],
    [testHub({ service: 'shop', transport }), {}],
  ] as const;
  for (const [test, config] of others) {
    await startWith(test.hub, config);
    expect(warnings(test)).toEqual([]);
  }
});
