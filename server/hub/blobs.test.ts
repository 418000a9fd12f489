import { randomUUID } from 'node:crypto';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { everyTransport } from '../testing/every-transport.fixture.js';
import type { BlobStore } from '../transports/blobs/blob-store.js';
import { BlobTransport } from '../transports/blobs/blob-transport.js';
import { newBlobs } from '../transports/blobs/blobs.fixture.js';
import { contractCodec } from '../transports/contract/describe-transport.js';
import { silentLogger, type Transport } from '../transports/transport.js';
import { createHub } from './create-hub.js';
import { createEvent } from './events/event.js';
import type { Hub } from './hub.js';
import type { HubOptions } from './hub-options.js';
import type { RunCtx } from './runs/step.js';
import { createWorkflow } from './runs/workflow.js';

const replied = createEvent<string>({ type: 'reply' });
const hourMs = 3_600_000;
const large = (name: string): string => `${name} ${'ü"\\\u2028😀'.repeat(100)}`;

/** Sweeps as a process does in some hours. */
async function sweep(transport: Transport, store: BlobStore, hours: number): Promise<void> {
  const manager = transport.connect({ service: 'sweeper', logger: silentLogger });
  const blobs = new BlobTransport(manager, { store, aboveBytes: 300, logger: silentLogger });
  await manager.start({ subscriptions: [], concurrency: 1, onDelivery: () => {} });
  await blobs.sweep((await manager.kv.now()) + hours * hourMs);
  await manager.close({ drainMs: 0 });
}

describe.each(everyTransport)('blobs on the %s transport', (_name, createTransport) => {
  function newHub(options: HubOptions, blobs: BlobStore | undefined): Hub {
    const hub = createHub({ logger: false, ...options, ...(blobs && { blobs, blobsAboveBytes: 300 }) });
    onTestFinished(async () => {
      await hub.stop({ drainMs: 0 });
    });
    return hub;
  }

  it.each([
    ['plain', undefined],
    ['encoded', contractCodec],
  ])('stores large payloads, outputs and results as %s blobs', async (_form, codec) => {
    const transport = createTransport(codec && { codec });
    const { store, values } = newBlobs();
    const hub = newHub({ transport }, store);
    const seen: unknown[] = [];
    hub.event<string>({
      type: 'mail',
      onComplete: 'mailed',
      handler: async ({ payload, emit }) => {
        seen.push(payload);
        await emit('sent', [large('a'), large('b')]);
        return large('answer');
      },
    });
    hub.event<string[]>({ type: 'sent', handler: ({ payload }) => void seen.push(payload.length) });
    hub.event({ type: 'mailed', handler: ({ payload }) => void seen.push(payload) });
    const child = hub.workflow(
      createWorkflow({ name: 'child', run: async ({ input }: RunCtx<string>) => `${input} and result` }),
    );
    const parent = hub.workflow(
      createWorkflow({
        name: 'parent',
        run: async ({ input, step }: RunCtx<string>) => {
          const output = await step.run('large', () => large('output'));
          const reply = step.waitForEvent('reply', replied);
          await step.emit('ask', 'asked', large('question'));
          return [input, output, await reply, await step.invoke('child', child, large('invoked'))];
        },
      }),
    );
    hub.event<string>({ type: 'asked', handler: ({ payload, emit }) => void emit('reply', `re: ${payload}`) });
    hub.event(replied);
    await hub.start();
    await hub.emit('mail', large('payload'));
    const run = await hub.startWorkflow(parent, large('input'));
    const result = [large('input'), large('output'), `re: ${large('question')}`, `${large('invoked')} and result`];
    expect(await run.result()).toEqual(result);
    await vi.waitFor(() => expect(seen).toHaveLength(3));
    const mailed = expect.objectContaining({ payload: large('payload'), result: large('answer') });
    expect(seen).toEqual(expect.arrayContaining([large('payload'), 2, mailed]));
    const { steps } = await hub.getRun(parent, run.runId, { outputs: true });
    expect(steps.find(({ name }) => name === 'large')).toMatchObject({ output: large('output') });

    const stored = [...values.values()].map((data) => Buffer.from(data).toString());
    expect(stored.some((text) => text.includes('payload'))).toBe(codec === undefined);
    expect(stored.every((text) => codec === undefined || text.startsWith('>'))).toBe(true);
    // The transport has references alone.
    const plain = transport.connect({ service: 'hub', logger: silentLogger });
    await plain.start({ subscriptions: [], concurrency: 1, onDelivery: () => {} });
    const record = await plain.runs.get('workflow\u001fparent', run.runId);
    await plain.close({ drainMs: 0 });
    const texts = JSON.stringify([record?.envelope.body, record?.result, ...(record?.checkpoints.values() ?? [])]);
    expect(texts).toContain('hubline:blob');
    expect(texts).not.toContain('😀😀');
    expect(texts.length).toBeLessThan(5_000);
  });

  it('replays a dead letter, and fails one whose blob is missing, or with no store, without losing it', async () => {
    const transport = createTransport();
    const { store, values } = newBlobs();
    let isBroken = true;
    const seen: string[] = [];
    const start = async (blobs: BlobStore | undefined): Promise<Hub> => {
      const hub = newHub({ transport }, blobs);
      hub.event<string>({
        type: 'mail',
        handler: ({ payload }) => {
          if (isBroken) throw new Error('broken');
          seen.push(payload);
        },
      });
      await hub.start();
      return hub;
    };
    const failureOf = (hub: Hub, name: string): Promise<void> =>
      vi.waitFor(async () => expect(await hub.deadLetters('mail')).toMatchObject([{ name }]));
    const first = await start(store);
    const { id } = await first.emit('mail', large('payload'));
    await vi.waitFor(async () =>
      expect(await first.deadLetters('mail')).toMatchObject([{ payload: large('payload') }]),
    );
    isBroken = false;
    const kept = new Map(values);
    values.clear();
    await first.replay(id);
    await failureOf(first, 'MissingBlobError');
    await first.stop();

    for (const [name, value] of kept) values.set(name, value);
    const without = await start(undefined);
    await without.replay(id);
    await failureOf(without, 'NoBlobStoreError');
    await without.stop();

    const last = await start(store);
    await last.replay(id);
    await vi.waitFor(() => expect(seen).toEqual([large('payload')]));
  });

  it('deletes the blobs of a request with erase', async () => {
    const { store, values } = newBlobs();
    const hub = newHub({ transport: createTransport() }, store);
    const run = createWorkflow({
      name: 'report',
      run: async ({ input, step }: RunCtx<string>) => step.run('large', () => `${input}!`),
    });
    hub.workflow(run);
    await hub.start();
    const [erased, other] = [randomUUID(), randomUUID()];
    const first = await hub.startWorkflow(run, large('secret'), { requestId: erased });
    const second = await hub.startWorkflow(run, large('kept'), { requestId: other });
    await Promise.all([first.result(), second.result()]);
    const before = values.size;
    expect(await hub.erase({ requestId: erased })).toMatchObject({ runs: 1, pending: 0 });
    expect(values.size).toBe(before / 2);
    const texts = [...values.values()].map((data) => Buffer.from(data).toString());
    expect(texts.every((text) => text.includes('kept'))).toBe(true);
    expect(await hub.getRun(run, second.runId, { outputs: true })).toMatchObject({ status: 'completed' });
  });

  it('sweeps the blobs of events that are gone, and orphans, but none that is held', async () => {
    const transport = createTransport();
    const { store, values } = newBlobs();
    const hub = newHub({ transport }, store);
    const handled: string[] = [];
    hub.event<string>({ type: 'done', handler: ({ payload }) => void handled.push(payload) });
    hub.event<string>({
      type: 'dead',
      handler: () => {
        throw new Error('no');
      },
    });
    hub.event<string>({ type: 'later', handler: () => {} });
    hub.event(replied);
    const waiting = hub.workflow(
      createWorkflow({
        name: 'waiting',
        run: async ({ step }) => {
          const reply = await step.waitForEvent('reply', replied);
          await step.sleep('long', 24 * hourMs);
          return reply;
        },
      }),
    );
    await hub.start();
    const run = await hub.startWorkflow(waiting, null);
    await vi.waitFor(async () => expect(await hub.getRun(waiting, run.runId)).toMatchObject({ status: 'suspended' }));
    await hub.emit('done', large('done'));
    await hub.emit('done', large('again'), { dedupeId: 'once' });
    await hub.emit('done', large('loser'), { dedupeId: 'once' });
    await hub.emit('dead', large('dead'));
    await hub.emit('later', large('later'), { delayMs: 24 * hourMs });
    await hub.emit('reply', large('reply'));
    await vi.waitFor(async () => {
      expect(handled).toHaveLength(2);
      expect(await hub.deadLetters('dead')).toHaveLength(1);
      expect(await hub.getRun(waiting, run.runId)).toMatchObject({
        steps: [{ status: 'completed' }, { name: 'long', status: 'waiting' }],
      });
    });
    // A process died between the store and the acceptance.
    const orphan = transport.connect({ service: 'hub', logger: silentLogger });
    await orphan.start({ subscriptions: [], concurrency: 1, onDelivery: () => {} });
    const dying = { ...orphan, kv: orphan.kv, publish: () => Promise.reject(new Error('killed')) };
    const killed = new BlobTransport(dying, { store, aboveBytes: 300, logger: silentLogger });
    const envelope = { id: 'o', type: 'done', requestId: 'o', depth: 0, delayMs: 0, priority: 0, replays: 0 };
    await expect(
      killed.publish([{ ...envelope, dedupe: undefined, body: JSON.stringify(large('orphan')) }]),
    ).rejects.toThrow('killed');
    await orphan.close({ drainMs: 0 });
    const names = (): string[] =>
      [...values.values()].map((data) => JSON.parse(Buffer.from(data).toString()).split(' ')[0]).sort();
    const held = ['dead', 'later', 'reply'];
    const all = [...held, 'again', 'done', 'loser', 'orphan'].sort();
    expect(names()).toEqual(all);

    await sweep(transport, store, 0.5);
    expect(names()).toEqual(all);
    await sweep(transport, store, 14);
    expect(names()).toEqual(held);
    await sweep(transport, store, 24 * 399);
    expect(names()).toEqual(held);
    await sweep(transport, store, 24 * 402);
    expect(names()).toEqual(['dead', 'later']);
  });

  it('runs an event when a store that failed works again, and refuses what it cannot store', async () => {
    const { store } = newBlobs();
    let isDown = true;
    const fail = async (): Promise<never> => {
      throw new Error('down');
    };
    const blobs: BlobStore = {
      put: (name, data) => (isDown ? fail() : store.put(name, data)),
      get: (name) => (isDown ? fail() : store.get(name)),
      delete: store.delete,
    };
    const hub = newHub({ transport: createTransport() }, blobs);
    const attempts: number[] = [];
    hub.event<string>({ type: 'mail', handler: ({ attempt }) => void attempts.push(attempt) });
    await hub.start();
    await expect(hub.emit('mail', large('refused'))).rejects.toMatchObject({ code: 'ERR_BLOB_STORE' });
    isDown = false;
    const accepted = hub.emit('mail', large('accepted'), { delayMs: 50 });
    await accepted;
    isDown = true;
    await vi.waitFor(async () => expect(await hub.metrics('mail')).toMatchObject({ received: 1, pending: 1 }));
    isDown = false;
    await vi.waitFor(() => expect(attempts).toEqual([1]), { timeout: 20_000 });
    expect(await hub.metrics('mail')).toMatchObject({ retried: 0 });
  });
});

it.each([
  [{ blobs: {} }, 'blobs of createHub must be'],
  [{ blobs: newBlobs().store, blobsAboveBytes: 0 }, 'blobsAboveBytes of createHub must be'],
  [{ blobsAboveBytes: 1_000 }, 'blobsAboveBytes of createHub must be absent without blobs'],
])('refuses the options %j', (options, message) => {
  expect(() => Reflect.apply(createHub, undefined, [options])).toThrow(message);
});
