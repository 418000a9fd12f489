import { describe, expect, it, onTestFinished } from 'vitest';
import { everyTransport } from '../../testing/every-transport.fixture.js';
import { newStoreFile } from '../../testing/stores.fixture.js';
import { sqliteObserver } from '../../transports/sqlite/sqlite-observer.js';
import { sqliteTransport } from '../../transports/sqlite/sqlite-transport.js';
import { createHub } from '../create-hub.js';
import { testHub } from '../hub.fixture.js';
import type { Hub } from '../hub.js';
import type { HubOptions } from '../hub-options.js';

const by = { by: 'ada', reason: 'card provider is back' };

describe.each(everyTransport)('the audit on the %s transport', (_name, createTransport) => {
  async function startHub(options: HubOptions): Promise<Hub> {
    const hub = createHub({ logger: false, ...options });
    onTestFinished(async () => {
      await hub.stop({ drainMs: 0 });
    });
    if (options.observer !== true) {
      hub.event({
        type: 'paid',
        handler: () => {
          throw new Error('declined');
        },
      });
    }
    await hub.start();
    return hub;
  }

  it('has who did what to what, why and from where, newest first, for all services', async () => {
    const transport = createTransport();
    const shop = await startHub({ transport, service: 'shop' });
    const web = await startHub({ transport, observer: true });
    expect(await web.audit()).toEqual([]);
    const { id } = await shop.emit('paid', 1, { requestId: 'checkout-1' });
    await expect.poll(async () => (await shop.metrics('paid')).deadLetters).toBe(1);
    await web.pause({ type: 'paid' }, { ...by, via: 'page' });
    await web.resume({ type: 'paid' }, { by: 'bob' });
    await web.replay(id, { ...by, service: 'shop', via: 'cli' });
    await expect.poll(async () => (await shop.metrics('paid')).deadLetters).toBe(1);
    await web.cancel(id, by);
    await web.erase({ requestId: 'checkout-1' }, by);
    const entries = await shop.audit();
    expect(entries.map(({ sequence: _, at: __, outcome: ___, ...entry }) => entry)).toEqual([
      { action: 'erase', by: 'ada', via: 'code', reason: by.reason, target: { requestId: 'checkout-1' } },
      { action: 'cancel', by: 'ada', via: 'code', reason: by.reason, target: { id, type: 'paid' } },
      { action: 'replay', by: 'ada', via: 'cli', reason: by.reason, target: { id, service: 'shop', type: 'paid' } },
      { action: 'resume', by: 'bob', via: 'code', target: { type: 'paid' } },
      { action: 'pause', by: 'ada', via: 'page', reason: by.reason, target: { type: 'paid' } },
    ]);
    expect(entries.map(({ sequence }) => sequence)).toEqual([4, 3, 2, 1, 0]);
    const done = { done: 1, failed: 0 };
    expect(entries.map(({ outcome }) => outcome)).toEqual([done, { done: 0, failed: 0 }, done, done, done]);
    expect(await shop.audit({ limit: 2 })).toEqual(entries.slice(0, 2));
  });

  it('has the codes of actions that failed', async () => {
    const transport = createTransport();
    const hub = await startHub({ transport });
    const code = 'ERR_UNKNOWN_DEAD_LETTER';
    await expect(hub.replay('e-1', by)).rejects.toMatchObject({ code });
    expect(await hub.audit()).toMatchObject([{ action: 'replay', outcome: { done: 0, failed: 1, code } }]);
  });

  it('keeps the last 1,000 actions', async () => {
    const hub = await startHub({ transport: createTransport() });
    // 26 round trips at once.
    for (let from = 0; from < 1_010; from += 40) {
      const size = Math.min(40, 1_010 - from);
      await Promise.all(Array.from({ length: size }, (_, i) => hub.cancel(`e-${from + i}`, { by: 'ada' })));
    }
    const entries = await hub.audit();
    expect(entries).toHaveLength(1_000);
    expect(entries[0]?.sequence).toBe(1_009);
    expect(entries.filter(({ outcome }) => outcome?.done === 0 && outcome.failed === 0)).toHaveLength(1_000);
  });
});

it('records nothing of calls without a name, and refuses a reason without one', async () => {
  const { hub, log } = testHub();
  await hub.start();
  await hub.cancel('e-1');
  await hub.erase({ requestId: 'r-1' });
  expect(await hub.audit()).toEqual([]);
  await expect(hub.cancel('e-1', { reason: 'no name' })).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' });
  await expect(hub.replay('e-1', { by: '' })).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' });
  await expect(hub.audit({ limit: 1_001 })).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' });
  expect(log.filter(({ message }) => message.includes('audit'))).toEqual([]);
});

it('logs one line per action, without its reason', async () => {
  const { hub, log } = testHub();
  await hub.start();
  await hub.cancel('e-1', by);
  expect(log.filter(({ message }) => message.includes('audit'))).toEqual([
    {
      level: 'info',
      fields: { action: 'cancel', by: 'ada', via: 'code', id: 'e-1' },
      message: 'action recorded in the audit',
    },
  ]);
});

it('is read and written without the codec of the store, as pauses are', async () => {
  const codec = { encode: (text: string) => `>${text}`, decode: (text: string) => text.slice(1) };
  const file = newStoreFile();
  const { hub } = testHub({ transport: sqliteTransport({ file, codec }) });
  await hub.start();
  await hub.cancel('e-1', by);
  const { hub: web } = testHub({ transport: sqliteObserver({ file }), observer: true });
  await web.start();
  await web.cancel('e-2', { by: 'bob' });
  for (const reader of [hub, web]) {
    expect(await reader.audit()).toMatchObject([
      { by: 'bob', target: { id: 'e-2' } },
      { by: 'ada', target: { id: 'e-1' } },
    ]);
  }
});

it('carries no action out that it cannot record', async () => {
  const { hub } = testHub();
  hub.event({
    type: 'paid',
    handler: () => {
      throw new Error('declined');
    },
  });
  await hub.start();
  const { id } = await hub.emit('paid', 1);
  await expect.poll(async () => (await hub.metrics('paid')).deadLetters).toBe(1);
  Object.assign(hub.transport, { log: { append: () => Promise.reject(new Error('full')) } });
  await expect(hub.replay(id, { by: 'ada' })).rejects.toThrow('full');
  expect(await hub.metrics('paid')).toMatchObject({ deadLetters: 1, received: 1 });
});

it('carries an action out whose outcome it cannot record', async () => {
  const { hub, log } = testHub();
  await hub.start();
  const { append } = hub.transport.log;
  let appends = 0;
  hub.transport.log.append = (...args) => {
    appends += 1;
    return appends === 2 ? Promise.reject(new Error('full')) : append.apply(hub.transport.log, args);
  };
  expect(await hub.cancel('e-1', { by: 'ada' })).toBe(false);
  expect(await hub.audit()).toEqual([expect.not.objectContaining({ outcome: expect.anything() })]);
  expect(log.map(({ message }) => message)).toContain('outcome not recorded in the audit');
});
