import { existsSync, readFileSync } from 'node:fs';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { everyTransport } from '../testing/every-transport.fixture.js';
import { createFakeClock } from '../testing/fake-clock.js';
import { newStoreFile } from '../testing/stores.fixture.js';
import { memoryTransport } from '../transports/memory/memory-transport.js';
import { sqliteTransport } from '../transports/sqlite/sqlite-transport.js';
import { createHub } from './create-hub.js';
import { createEvent } from './events/event.js';
import { deferred, testHub } from './hub.fixture.js';
import type { Hub } from './hub.js';
import type { HubOptions } from './hub-options.js';
import type { SearchQuery } from './introspection/tag-search.js';
import { defineWorkflow } from './runs/define-workflow.js';
import type { Step } from './runs/step.js';
import { createWorkflow } from './runs/workflow.js';

interface Order {
  readonly customer: string;
  readonly region?: string;
  readonly fails?: boolean;
  readonly next?: Order;
}

const placed = createEvent<Order>({
  type: 'order.placed',
  key: ({ customer }) => customer,
  tags: ({ customer, region }) => [`customer:${customer}`, ...(region === undefined ? [] : [`region:${region}`])],
});
const paid = createEvent<Order>({ type: 'order.paid', tags: ({ customer }) => [`customer:${customer}`] });
const seen = createEvent<Order>({
  type: 'page.seen',
  key: ({ customer }) => customer,
  tags: ({ customer }) => [`customer:${customer}`],
});
const untagged = createEvent<Order>({ type: 'order.seen', key: ({ customer }) => customer });
const refund = defineWorkflow<Order>({ name: 'refund', tags: ({ customer }) => [`customer:${customer}`] });

let hubs: Hub[] = [];
afterEach(async () => {
  await Promise.all(hubs.map((hub) => hub.stop({ drainMs: 0 })));
  hubs = [];
});

async function startShop(options: HubOptions): Promise<Hub> {
  const hub = createHub({ logger: false, service: 'shop', ...options });
  hubs.push(hub);
  hub.event(placed, {
    handler: async ({ payload, emit }) => {
      if (payload.fails === true) throw new Error('card 4242 was declined');
      if (payload.next !== undefined) await emit(placed, payload.next);
      return { customer: payload.customer };
    },
    onSuccess: paid,
  });
  hub.event(paid, { handler: () => {} });
  hub.event(seen, { debounceMs: 3_600_000, handler: () => {} });
  hub.event(untagged, { handler: () => {} });
  hub.workflow(createWorkflow(refund, { run: async ({ step, input }) => step.run('pay', () => refuse(input)) }));
  hub.workflow(
    createWorkflow({
      name: 'ship',
      trigger: placed,
      run: ({ step }) => step.sleep('until the truck comes', 86_400_000),
    }),
  );
  await hub.start();
  return hub;
}

function refuse({ fails }: Order): null {
  if (fails === true) throw new RangeError('no account 17');
  return null;
}

async function found(hub: Hub, query: SearchQuery): Promise<string[]> {
  const { events } = await hub.search(query);
  return events.map(({ type, status }) => `${type} ${status}`);
}

describe.each(everyTransport)('search on %s', (_, open) => {
  it('finds by tag and key what any path accepted, whatever became of it', async () => {
    const hub = await startShop({ transport: open() });
    const { id } = await hub.emit(placed, { customer: 'ada', region: 'eu', next: { customer: 'bob' } });
    await hub.emitMany(placed, [{ customer: 'ada', region: 'us', fails: true }, { customer: 'eve' }]);
    await hub.emit(untagged, { customer: 'ada' });
    const run = await hub.startWorkflow(refund, { customer: 'ada', fails: true });
    await run.result().catch(() => {});
    await vi.waitFor(async () =>
      expect((await found(hub, { tag: 'customer:ada' })).sort()).toEqual([
        'order.paid completed',
        'order.placed completed',
        'order.placed failed',
        'refund failed',
        'ship suspended',
        'ship suspended',
      ]),
    );
    await vi.waitFor(async () =>
      expect((await found(hub, { key: 'bob' })).sort()).toEqual(['order.placed completed', 'ship suspended']),
    );
    expect(await found(hub, { tag: 'region:eu', type: 'order.placed' })).toEqual(['order.placed completed']);
    expect(await found(hub, { tag: 'customer:ada', status: 'failed' })).toEqual([
      'refund failed',
      'order.placed failed',
    ]);
    expect(await found(hub, { tag: 'customer:nobody' })).toEqual([]);
    expect(await found(hub, { tag: 'ada' })).toEqual([]);
    const [event] = (await hub.search({ tag: 'region:eu', type: 'order.placed' })).events;
    expect(event).toMatchObject({ id });
    const times = { tag: 'customer:ada', type: 'order.placed' };
    expect(await found(hub, { ...times, from: (event?.acceptedAt ?? 0) + 3_600_000 })).toEqual([]);
    expect(await found(hub, { ...times, to: (event?.acceptedAt ?? 0) - 3_600_000 })).toEqual([]);
  });

  it('tells whom an error group touched, and erases the tags of a request', async () => {
    const hub = await startShop({ transport: open() });
    await hub.emit(placed, { customer: 'ada', fails: true }, { requestId: 'r-1' });
    await hub.emit(placed, { customer: 'bob' });
    const group = await vi.waitFor(async () => {
      const [first] = await hub.errorGroups('order.placed');
      expect(first).toMatchObject({ message: 'card # was declined' });
      return first?.id ?? '';
    });
    const ofGroup = { group, type: 'order.placed' };
    await vi.waitFor(async () =>
      expect(await found(hub, { tag: 'customer:ada', ...ofGroup })).toEqual(['order.placed failed']),
    );
    expect(await found(hub, { tag: 'customer:bob', ...ofGroup })).toEqual([]);
    await hub.erase({ requestId: 'r-1' });
    expect(await found(hub, { tag: 'customer:ada' })).toEqual([]);
    expect(await found(hub, { key: 'ada' })).toEqual([]);
    expect(await found(hub, { key: 'bob', type: 'order.placed' })).toHaveLength(1);
  });

  it('finds a debounced event by the tags of its window, until the request that it joined is erased', async () => {
    const hub = await startShop({ transport: open() });
    const { id } = await hub.emit(seen, { customer: 'ada' }, { requestId: 'r-1' });
    expect(await hub.emit(seen, { customer: 'ada' }, { requestId: 'r-2' })).toMatchObject({ id });
    for (const query of [{ tag: 'customer:ada' }, { key: 'ada' }]) {
      expect((await hub.search(query)).events).toMatchObject([{ id, requestId: 'r-2', status: 'delayed' }]);
    }
    await hub.erase({ requestId: 'r-2' });
    expect(await found(hub, { tag: 'customer:ada' })).toEqual([]);
    expect(await found(hub, { key: 'ada' })).toEqual([]);
  });

  it('pages through many, each once', async () => {
    const hub = await startShop({ transport: open() });
    const receipts = await hub.emitMany(
      paid,
      Array.from({ length: 40 }, () => ({ customer: 'ada' })),
    );
    const ids: string[] = [];
    let after: string | undefined;
    do {
      const page = await hub.search({ tag: 'customer:ada', limit: 15, ...(after !== undefined && { after }) });
      ids.push(...page.events.map((event) => event.id));
      ({ after } = page);
      expect(page.since).toBeUndefined();
    } while (after !== undefined);
    expect(ids).toHaveLength(40);
    expect(new Set(ids)).toEqual(new Set(receipts.map(({ id }) => id)));
  });
});

it('stores neither tags nor keys in clear with a codec', async () => {
  const file = newStoreFile();
  const flip = (bytes: Buffer): Buffer => Buffer.from(bytes.map((byte) => byte ^ 0x5a));
  const codec = {
    encode: (text: string) => flip(Buffer.from(text)).toString('base64'),
    decode: (text: string) => flip(Buffer.from(text, 'base64')).toString(),
  };
  const hub = await startShop({ transport: sqliteTransport({ file, codec }) });
  await hub.emit(placed, { customer: 'ada-lovelace' }, { requestId: 'r-1' });
  expect(await found(hub, { tag: 'customer:ada-lovelace', type: 'order.placed' })).toHaveLength(1);
  expect(await found(hub, { key: 'ada-lovelace', type: 'order.placed' })).toHaveLength(1);
  const stored = [file, `${file}-wal`].filter(existsSync).map((path) => readFileSync(path, 'latin1'));
  expect(stored.join('')).not.toContain('lovelace');
});

describe('tags of a definition', () => {
  it.each([
    [() => ['a', 'b', 'c', 'd', 'e', 'f']],
    [() => ['x'.repeat(65)]],
    [() => ['']],
    [() => [1]],
    [() => 'a'],
    [
      () => {
        throw new Error('no customer');
      },
    ],
  ])('refuse an event with wrong tags, and accept nothing', async (tags) => {
    const hub = createHub({ logger: false });
    onTestFinished(async () => void (await hub.stop({ drainMs: 0 })));
    hub.event({ type: 'a', tags: tags as () => string[], handler: () => {} });
    await hub.start();
    await expect(hub.emit('a', null)).rejects.toMatchObject({ code: 'ERR_INVALID_TAGS' });
    expect(await hub.metrics('a')).toMatchObject({ received: 0 });
  });

  it('are refused where they cannot be computed or shown', () => {
    const hub = createHub({ logger: false });
    expect(() => hub.event({ type: 'a', showTags: true })).toThrow('tags of event "a" must be set if showTags is');
    expect(() => hub.event({ type: 'a', tags: 'a' as never })).toThrow('tags of event "a" must be a function');
    const trigger = { name: 'w', trigger: 'a', tags: () => [], run: () => null };
    expect(() => createWorkflow(trigger)).toThrow('tags of workflow "w" must be omitted if there is a trigger');
  });

  it.each<[object, string]>([
    [{}, 'tag of search'],
    [{ tag: 'a', key: 'b' }, 'tag of search'],
    [{ tag: 'x'.repeat(65) }, 'tag of search'],
    [{ tag: 'a', status: 'broken' }, 'status of search must be one of waiting'],
    [{ tag: 'a', limit: 201 }, 'limit of search'],
    [{ tag: 'a', from: 'yesterday' }, 'from of search'],
    [{ tag: 'a', after: 'x' }, 'after of search'],
    [{ tag: 'a', tags: ['a'] }, 'option of search'],
  ])('are searched by a valid query alone: %j', async (query, message) => {
    const hub = createHub({ logger: false, transport: memoryTransport() });
    await expect(hub.search(query)).rejects.toThrow(message);
  });
});

it('costs an event without tags nothing', async () => {
  const hub = await startShop({ transport: memoryTransport() });
  const append = vi.spyOn(hub.transport.log, 'append');
  await hub.emit(untagged, { customer: 'ada' });
  expect(append).not.toHaveBeenCalled();
});

describe('an index that cannot be written', () => {
  /** Fails the next appends to the index. */
  function failAppends(hub: Hub): void {
    const { log } = hub.transport;
    const append = log.append.bind(log);
    vi.spyOn(log, 'append').mockImplementation((name, texts, bounds) =>
      name.startsWith('tags\n') ? Promise.reject(new Error('no space left')) : append(name, texts, bounds),
    );
  }

  it('refuses an event of the application', async () => {
    const { hub } = testHub();
    hub.event(placed, { handler: () => {} });
    await hub.start();
    failAppends(hub);
    await expect(hub.emit(placed, { customer: 'ada' })).rejects.toThrow('no space left');
    await expect(hub.emitMany(placed, [{ customer: 'ada' }])).rejects.toThrow('no space left');
    expect(await hub.metrics(placed.type)).toMatchObject({ received: 0 });
  });

  it('neither fails nor repeats what handlers, runs and schedules cause', async () => {
    const { hub, clock, log } = testHub();
    const errors: unknown[] = [];
    const causes: string[] = [];
    hub.event(placed, { handler: ({ payload }) => void causes.push(payload.customer) });
    hub.event({
      type: 'a',
      onSuccess: placed,
      handler: async ({ emit }) => {
        await emit(placed, { customer: 'handler' }).catch((error) => errors.push(error));
        void emit(placed, { customer: 'not awaited' });
        return { customer: 'follow-up' };
      },
    });
    const child = hub.workflow(createWorkflow(refund, { run: () => null }));
    const run = async ({ step }: { step: Step }): Promise<void> => {
      await step.run('emits', async ({ emit }) => void (await emit(placed, { customer: 'step' })));
      await step.emit('emit', placed, { customer: 'run' });
      await step.invoke('child', child, { customer: 'parent' });
    };
    hub.workflow(createWorkflow({ name: 'w', trigger: 'a', run }));
    hub.schedule({ name: 's', everyMs: 1_000, emit: placed, payload: { customer: 'schedule' } });
    await hub.start();
    failAppends(hub);
    await hub.emit('a', null);
    await clock.advance(1_000);
    await clock.settle();
    expect(errors).toEqual([]);
    expect(causes.sort()).toEqual(['follow-up', 'handler', 'not awaited', 'run', 'schedule', 'step']);
    expect(await hub.metrics('a')).toMatchObject({ failed: 0 });
    const warnings = log.filter(({ message }) => message === 'events cannot be found by their tags');
    expect(warnings.length).toBeGreaterThanOrEqual(7);
  });
});

it('keeps the key and the content of a follow-up whose tags are not valid', async () => {
  const { hub, clock, log } = testHub();
  const received: unknown[] = [];
  const end = deferred();
  hub.event({ type: 'a', onSuccess: 'b', handler: () => ({ customer: 'ada', amount: '7' }) });
  hub.event({
    type: 'b',
    schema: z.object({ customer: z.string(), amount: z.coerce.number() }),
    key: ({ customer }) => customer,
    concurrencyPerKey: 1,
    tags: () => [''],
    handler: ({ payload }) => {
      received.push(payload);
      return end.promise;
    },
  });
  await hub.start();
  await hub.emitMany('a', [null, null]);
  await clock.settle();
  // One of a key at a time.
  expect(received).toEqual([{ customer: 'ada', amount: 7 }]);
  end.resolve();
  await clock.settle();
  expect(received).toHaveLength(2);
  expect(log.filter(({ message }) => message === 'follow-up event has no valid tags')).toHaveLength(2);
});

it('indexes a due time once, in the process that claims it', async () => {
  const clock = createFakeClock();
  const transport = memoryTransport({ clock });
  const hubsOfShop = Array.from({ length: 4 }, () => testHub({ transport }).hub);
  for (const hub of hubsOfShop) {
    hub.event(paid, { handler: () => {} });
    hub.schedule({ name: 's', everyMs: 1_000, emit: paid, payload: { customer: 'ada' } });
    await hub.start();
  }
  await clock.advance(3_000);
  const [hub = testHub().hub] = hubsOfShop;
  expect(await found(hub, { tag: 'customer:ada' })).toHaveLength(3);
  expect(await hub.transport.log.read(`tags\n${paid.type}`)).toMatchObject({ next: 3 });
});

it('notes the erasure of a request only where the request has events', async () => {
  const { hub } = testHub();
  for (const event of [placed, paid]) hub.event(event, { handler: () => {} });
  await hub.start();
  await hub.emit(placed, { customer: 'ada' }, { requestId: 'r-1' });
  for (const requestId of ['r-1', 'r-1', 'r-2']) await hub.erase({ requestId });
  expect(await hub.transport.log.read(`tags\n${placed.type}`)).toMatchObject({ next: 2 });
  expect(await hub.transport.log.read(`tags\n${paid.type}`)).toMatchObject({ next: 0 });
});
