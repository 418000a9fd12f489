import { inspect } from 'node:util';
import { expect, it, onTestFinished, vi } from 'vitest';
import { FatalError } from '../errors.js';
import { createFakeClock } from '../testing/fake-clock.js';
import { memoryTransport } from '../transports/memory/memory-transport.js';
import { consoleLogger, defaultLogger } from './console-logger.js';
import { createHub } from './create-hub.js';
import type { HubOptions } from './hub-options.js';

type Level = 'debug' | 'error' | 'info' | 'warn';

/** Fails an event at its second attempt, on a hub with these options, and returns what the console received. */
async function printed(options: HubOptions): Promise<readonly (readonly [Level, ...unknown[]])[]> {
  const calls: [Level, ...unknown[]][] = [];
  for (const level of ['debug', 'error', 'info', 'warn'] as const) {
    vi.spyOn(console, level).mockImplementation((...values) => void calls.push([level, ...values]));
  }
  onTestFinished(() => void vi.restoreAllMocks());
  const clock = createFakeClock();
  const hub = createHub({ transport: memoryTransport({ clock }), ...options });
  hub.event({
    type: 'order.paid',
    retry: { maxAttempts: 2, jitter: false },
    handler({ attempt, logger }) {
      logger.debug({ warehouse: 'north 1' }, 'looks for a box');
      if (attempt === 1) throw new Error('no\nstock');
      const error = new FatalError('no\u001b[2Jbox');
      error.stack = `${error.stack}`.replace('    at ', '    at pay (/srv/shop/pay.ts:3:1)\n    at ');
      throw error;
    },
  });
  await hub.start();
  await hub.emit('order.paid', {}, { requestId: 'r-1', dedupeId: 'e-1' });
  await clock.advance(1_000);
  await vi.waitFor(async () => expect((await hub.health()).problems).toHaveLength(1));
  await hub.stop();
  return calls;
}

it('prints a line on stderr per warning and error by default', async () => {
  const lines = await printed({});
  expect(lines).toEqual([
    [
      'error',
      expect.stringMatching(
        /^hubline: attempt failed: Error: no stock requestId=r-1 eventType=order\.paid eventId=\S+ attempt=1 delayMs=500$/,
      ),
    ],
    [
      'error',
      expect.stringMatching(
        /^hubline: event failed: FatalError: no \[2Jbox requestId=r-1 eventType=order\.paid eventId=\S+ attempt=2$/,
      ),
    ],
  ]);
});

it('prints nothing with logger: false', async () => {
  expect(await printed({ logger: false })).toEqual([]);
});

it('passes the message to the console first, and errors without frames of the library', async () => {
  const lines = await printed({ logger: console });
  const failure = lines.find(([, message]) => message === 'event failed');
  expect(failure).toMatchObject(['error', 'event failed', { requestId: 'r-1', eventType: 'order.paid', attempt: 2 }]);
  const [, , fields] = failure ?? [];
  const { stack } = fields instanceof Object && 'err' in fields && fields.err instanceof Error ? fields.err : {};
  expect(stack).toMatch(/^FatalError: no.*\n {4}at pay \(\/srv\/shop\/pay\.ts:3:1\)/);
  // This test stands in the folder of the library too.
  expect(stack).not.toContain('/server/');
  expect(lines).toContainEqual([
    'debug',
    'looks for a box',
    expect.objectContaining({ warehouse: 'north 1', eventType: 'order.paid' }),
  ]);
});

it('leaves the errors that it prints as they are', () => {
  const error = vi.fn();
  const thrown = Object.freeze(new TypeError('no stock', { cause: new Error('strike') }));
  const { stack } = thrown;
  consoleLogger({ ...console, error }).error({ err: thrown }, 'event failed');
  expect(thrown.stack).toBe(stack);
  expect(stack).toContain('/server/');
  const printed: unknown = error.mock.lastCall?.[1].err;
  expect(printed).toStrictEqual(thrown);
  expect(inspect(printed)).toMatch(/^TypeError: no stock\n/);
  expect(printed instanceof Error && printed.stack).not.toContain('/server/');
});

it('prints an error that cannot be copied as it is', () => {
  const error = vi.fn((...values: unknown[]) => values.map((value) => inspect(value)));
  const thrown = new DOMException('no answer', 'AbortError');
  consoleLogger({ ...console, error }).error({ err: thrown }, 'event failed');
  expect(error.mock.results).toMatchObject([{ type: 'return' }]);
  expect(error.mock.lastCall).toEqual(['event failed', { err: thrown }]);
});

it('prints at most 20 lines per second, and the number of the others', () => {
  let now = 0;
  const error = vi.spyOn(console, 'error').mockImplementation(() => {});
  onTestFinished(() => void vi.restoreAllMocks());
  const logger = defaultLogger(() => now);
  for (let index = 0; index < 1_000; index += 1) logger.child?.({ index }).warn({}, 'slow');
  expect(error.mock.calls).toHaveLength(20);
  expect(error.mock.lastCall).toEqual(['hubline: slow index=19']);
  now = 1_000;
  logger.error({ text: 'two words', list: [1, { a: { b: 1 } }] }, 'again');
  expect(error.mock.calls.slice(20)).toEqual([
    ['hubline: 980 more lines within a second'],
    ["hubline: again text='two words' list=[ 1, { a: [Object] } ]"],
  ]);
});
