import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { type PostgresServer, startPostgresServer } from '../../scripts/postgres-server.js';
import type { ApprovalDecided, ApprovalRequest } from '../agents/agent/approval.js';
import { createAgent } from '../agents/create-agent.js';
import { ConversationMemory } from '../agents/memory/conversation-memory.js';
import { createTool } from '../agents/tools/tool.js';
import { createHub } from '../hub/create-hub.js';
import type { Hub } from '../hub/hub.js';
import type { HubOptions } from '../hub/hub-options.js';
import { defineWorkflow } from '../hub/runs/define-workflow.js';
import type { RunCtx } from '../hub/runs/step.js';
import { createWorkflow } from '../hub/runs/workflow.js';
import { scriptedProvider } from '../testing/scripted-provider.js';
import { newStoreFile, redisUrl } from '../testing/stores.fixture.js';
import type { Codec } from './codec.js';
import { contractCodec } from './contract/describe-transport.js';
import { envelope } from './contract/envelope.js';
import { postgresTransport } from './postgres/postgres-transport.js';
import { redisTransport } from './redis/redis-transport.js';
import { sqliteObserver } from './sqlite/sqlite-observer.js';
import { sqliteTransport } from './sqlite/sqlite-transport.js';
import { silentLogger, type Transport, type TransportManager } from './transport.js';

/** Store that outlives its processes. */
interface Store {
  /** Returns the transport of a process that handles events. */
  open(codec?: Codec): Transport;
  /** Returns the transport of a process beside it. */
  beside(codec?: Codec): Transport;
  /** Returns everything that was stored so far, as text. */
  read(): Promise<string>;
}

async function redisStore(): Promise<Store> {
  const prefix = randomUUID();
  const admin = new Redis(redisUrl());
  // Also what is stored for a short time, and what is sent to other processes.
  const monitor = await admin.monitor();
  const sent: string[] = [];
  monitor.on('monitor', (_time: string, args: string[]) => sent.push(args.join(' ')));
  onTestFinished(() => {
    monitor.disconnect();
    admin.disconnect();
  });
  const open = (codec?: Codec): Transport =>
    redisTransport({ url: redisUrl(), prefix, emitTimeoutMs: 60_000, ...(codec !== undefined && { codec }) });
  const readKey = async (key: string): Promise<unknown> => {
    const type = await admin.type(key);
    if (type === 'string') return admin.get(key);
    if (type === 'hash') return admin.hgetall(key);
    if (type === 'list') return admin.lrange(key, '0', '-1');
    if (type === 'set') return admin.smembers(key);
    return type === 'zset' ? admin.zrange(key, '0', '-1') : admin.xrange(key, '-', '+');
  };
  return {
    open,
    beside: open,
    async read() {
      const keys = await admin.keys('*');
      expect(keys.length).toBeGreaterThan(10);
      return JSON.stringify([keys, await Promise.all(keys.map(readKey)), sent]);
    },
  };
}

async function sqliteStore(): Promise<Store> {
  const file = newStoreFile();
  const options = (codec?: Codec) => ({ file, ...(codec !== undefined && { codec }) });
  return {
    open: (codec) => sqliteTransport(options(codec)),
    beside: (codec) => sqliteObserver(options(codec)),
    async read() {
      const files = readdirSync(dirname(file)).filter((name) => name.startsWith(basename(file)));
      expect(files).toContain(`${basename(file)}-wal`);
      return files.map((name) => readFileSync(join(dirname(file), name), 'latin1')).join();
    },
  };
}

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await startPostgresServer();
});
afterAll(() => postgres.release());

// A column of bytes, as JSON has it.
const bytesOfPostgres = /\\\\x((?:[0-9a-f]{2})+)/g;
const decodeBytes = (_: string, hex: string): string => Buffer.from(hex, 'hex').toString('latin1');

async function postgresStore(): Promise<Store> {
  const schema = `s${randomUUID().replaceAll('-', '')}`;
  const connectionString = postgres.url;
  const admin = new Client({ connectionString });
  await admin.connect();
  onTestFinished(() => admin.end());
  const sent: unknown[] = [];
  admin.on('notification', ({ payload }) => sent.push(payload));
  await admin.query(`LISTEN hubline_${schema}`);
  const open = (codec?: Codec): Transport =>
    postgresTransport({ connectionString, schema, emitTimeoutMs: 60_000, ...(codec !== undefined && { codec }) });
  return {
    open,
    beside: open,
    async read() {
      const { rows } = await admin.query(
        'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = $1',
        [schema],
      );
      expect(rows.length).toBeGreaterThan(10);
      const content: string[] = [];
      for (const { name } of rows) {
        const table = await admin.query(`SELECT json_agg(t)::text AS rows FROM "${schema}"."${name}" t`);
        content.push(String(table.rows[0]?.['rows']).replaceAll(bytesOfPostgres, decodeBytes));
      }
      return JSON.stringify([rows, content, sent]);
    },
  };
}

const stores: readonly (readonly [name: string, create: () => Promise<Store>])[] = [
  ['redis', redisStore],
  ['sqlite', sqliteStore],
  ['postgres', postgresStore],
];

function connect(transport: Transport): TransportManager {
  const manager = transport.connect({ service: 'shop', logger: silentLogger });
  onTestFinished(async () => void (await manager.close({ drainMs: 0 })));
  return manager;
}

function hubOn(transport: Transport, options: HubOptions = {}): Hub {
  const hub = createHub({ service: 'shop', transport, logger: silentLogger, ...options });
  onTestFinished(async () => void (await hub.stop({ drainMs: 0 })));
  return hub;
}

/** Texts of the test below by the row of the table in SECURITY.md that says how they are stored. */
const storedTexts = new Map([
  [
    'payloads, results, checkpoints, outputs of steps',
    ['canary-payload', 'canary-result', 'canary-output', 'canary-kept', 'canary-offer'],
  ],
  ['values, lists and logs: conversations and their summaries', ['canary-text', 'canary-entry', 'canary-line']],
  ['keys of events and runs', ['canary-key', 'canary-dead', 'canary-later', 'canary-debounced', 'canary-chat']],
  [
    'keys that runs wait for, such as ids of approvals',
    ['canary-awaited', 'canary-waits', 'canary-received', 'canary-reason'],
  ],
  ['`dedupeId`', ['canary-dedupe']],
  ['[tags](docs/search.md)', ['canary-tag']],
  [
    'keys of values and names of logs: agent names, ids of conversations',
    ['canary-value', 'canary-list', 'canary-number', 'canary-log', 'canary-conversation', 'canary-direct'],
  ],
  ['numbers of `kv.increment`', ['47114711']],
  ['ids of events and runs, `requestId`, trace context', ['shown-request']],
  [
    'names of types, workflows, services, steps and schedules',
    ['shown-type', 'shown-workflow', 'shown-service', 'shown-step', 'shown-schedule'],
  ],
  ['names and messages of errors', ['ShownError', 'shown-message']],
  ['times, counts, priorities, delays', ['600123']],
  ['pauses, and the audit: names and reasons of operators', ['shown-operator', 'shown-reason']],
  [
    'what the dashboard shows of agents, tools, models and schemas',
    ['shown-agent', 'shown-tool', 'shown-model', 'shown-schema'],
  ],
]);

/** Returns the rows of the table in SECURITY.md: what is stored, and if it is readable. */
function documentedRows(): [stored: string, isReadable: boolean][] {
  const text = readFileSync(join(import.meta.dirname, '../../SECURITY.md'), 'utf8');
  const section = text.slice(text.indexOf('### Codec'), text.indexOf('### Redis'));
  const rows = [...section.matchAll(/^\| (.+?) +\| (.+?) +\|$/gm)].slice(2);
  return rows.map(([, stored = '', form]) => [stored, form === 'readable']);
}

const noDeliveries = { concurrency: 1, onDelivery: () => {} };
const handled = { ...noDeliveries, subscriptions: [{ type: 'a' }] };

describe.each(stores)('with a codec on %s', (_name, createStore) => {
  it('stores keys, contents, names and times as SECURITY.md says', async () => {
    const store = await createStore();
    const hub = hubOn(store.open(contractCodec), { service: 'shown-service' });
    const customerOf = ({ customer }: { customer: string }): string => customer;
    const ordered = hub.event<{ customer: string; fails?: true }>({
      type: 'shown-type',
      schema: { type: 'object', title: 'shown-schema' },
      key: customerOf,
      tags: () => ['canary-tag'],
      concurrencyPerKey: 1,
      rate: { max: 100, perMs: 1_000, perKey: true },
      handler({ payload }) {
        if (payload.fails) throw Object.assign(new Error('shown-message'), { name: 'ShownError' });
      },
    });
    const typed = hub.event<{ customer: string }>({ type: 'typed', key: customerOf, debounceMs: 100, handler() {} });
    const replied = hub.event<{ customer: string; text?: string }>({ type: 'replied', key: customerOf });
    const ship = async ({ step }: RunCtx<{ customer: string }>): Promise<string> => {
      await step.run('shown-step', () => 'canary-output');
      await step.sleep('dry', 1);
      return 'canary-result';
    };
    hub.workflow(createWorkflow({ name: 'shown-workflow', trigger: ordered, run: ship }));
    hub.schedule({ name: 'shown-schedule', everyMs: 86_400_000, emit: typed, payload: { customer: 'canary-due' } });
    const canceled = hub.event<{ customer: string; why: string }>({ type: 'canceled', key: () => 'canary-reason' });
    const asked = defineWorkflow<{ customer: string }>({
      name: 'ask',
      key: customerOf,
      receives: [
        { event: replied, key: ({ customer }) => (customer === 'canary-waits' ? 'canary-received' : undefined) },
      ],
      cancelOn: [{ event: canceled, key: () => 'canary-reason', when: ({ why }) => why === 'canary-never' }],
    });
    const ask = hub.workflow(
      createWorkflow(asked, {
        concurrencyPerKey: 1,
        run: ({ step, input }: RunCtx<{ customer: string }>) =>
          step.waitForEvent('reply', replied, { key: input.customer }),
      }),
    );
    const memory = new ConversationMemory({ transport: hub.transport });
    const refund = createTool({
      name: 'shown-tool',
      description: '',
      parameters: { type: 'object' },
      needsApproval: true,
      execute: async () => 'refunded',
    });
    const agent = createAgent({
      name: 'shown-agent',
      systemPrompt: '',
      model: { model: 'shown-model' },
      provider: scriptedProvider([{ toolCalls: [{ name: 'shown-tool', arguments: {} }] }, 'hello', 'hello']),
      tools: [refund],
      memory,
    });
    const requests: ApprovalRequest[] = [];
    const requested = hub.event<ApprovalRequest>({
      type: 'requested',
      handler: ({ payload }) => void requests.push(payload),
    });
    const decided = hub.event<ApprovalDecided>({ type: 'decided', key: ({ approvalId }) => approvalId });
    const refunding = hub.event({
      type: 'refunding',
      handler: agent.asHandler({ conversation: () => 'canary-conversation', approvals: { requested, decided } }),
    });
    const chatting = hub.event<{ customer: string; input: string }>({
      type: 'chatting',
      key: customerOf,
      handler: agent.asHandler({ approvals: { requested, decided } }),
    });
    await hub.start();

    await hub.emit(ordered, { customer: 'canary-key' }, { dedupeId: 'canary-dedupe', requestId: 'shown-request' });
    expect(await hub.emit(ordered, { customer: 'canary-key' }, { dedupeId: 'canary-dedupe' })).toMatchObject({
      deduplicated: true,
    });
    await hub.emit(ordered, { customer: 'canary-dead', fails: true });
    await hub.emit(ordered, { customer: 'canary-later' }, { delayMs: 600_123 });
    await hub.emit(typed, { customer: 'canary-debounced' });
    const asking = await hub.startWorkflow(ask, { customer: 'canary-awaited' });
    await hub.startWorkflow(ask, { customer: 'canary-waits' });
    // One is kept, the other one is offered and refused.
    await hub.emit(replied, { customer: 'canary-received', text: 'canary-kept' });
    await hub.emit(canceled, { customer: 'canary-offer', why: 'canary-offer' });
    await hub.emit(refunding, 'canary-payload');
    // Its model has one script, of which this run takes the call of the tool.
    await vi.waitFor(async () => expect(await hub.waits()).toMatchObject({ approvals: 1 }));
    await hub.emit(chatting, { customer: 'canary-chat', input: 'hello' });
    await memory.addMessage('shown-agent', 'canary-direct', { role: 'user', content: 'hello' });
    const { kv, log } = hub.transport;
    await kv.set('canary-value', 'canary-text');
    await kv.append('canary-list', ['canary-entry']);
    await kv.increment('canary-number', 47_114_710);
    await hub.pause({ schedule: 'shown-schedule' }, { by: 'shown-operator', reason: 'shown-reason' });
    await log.append('canary-log', ['canary-line'], { maxEntries: 9, maxBytes: 999, maxAgeMs: 60_000 });

    await vi.waitFor(async () => {
      expect(await hub.deadLetters('shown-type')).toHaveLength(1);
      expect(await hub.waits()).toMatchObject({ approvals: 1, suspended: 3 });
      expect(await hub.metrics('typed')).toMatchObject({ completed: 1 });
      expect(await hub.metrics('chatting')).toMatchObject({ completed: 1 });
      expect((await hub.introspect()).workflows[0]?.metrics).toMatchObject({ completed: 2 });
    });
    expect((await hub.search({ tag: 'canary-tag' })).events.length).toBeGreaterThan(2);
    const { waits } = await hub.waits();
    const [request] = requests;
    const awaited = waits.map(({ step }) => step.waitsFor?.event?.key);
    expect(awaited.sort()).toEqual([request?.approvalId, 'canary-awaited', 'canary-waits'].sort());
    expect(await kv.increment('canary-number')).toBe(47_114_711);
    expect(await log.read('canary-log')).toMatchObject({ entries: [{ text: 'canary-line' }] });
    await expect(kv.range('canary-value', 0, 0)).rejects.toThrow('"canary-value" does not hold a list');
    const expectDocumented = async (): Promise<void> => {
      const content = await store.read();
      expect(/.{0,60}canary-.{0,60}/.exec(content)?.[0]).toBeUndefined();
      expect(content).not.toContain(request?.approvalId);
      const found = [...storedTexts].map(([stored, texts]) => [stored, texts.map((text) => content.includes(text))]);
      const isReadable = new Map(documentedRows());
      expect(found).toEqual(
        [...storedTexts].map(([stored, texts]) => [stored, texts.map(() => isReadable.get(stored))]),
      );
    };
    expect(documentedRows().map(([stored]) => stored)).toEqual([...storedTexts.keys()]);
    await expectDocumented();

    await hub.emit(replied, { customer: 'canary-awaited' });
    expect(await asking.result()).toEqual({ customer: 'canary-awaited' });
    await hub.emit(decided, { approvalId: request?.approvalId ?? '', approved: true });
    await vi.waitFor(async () => expect(await hub.metrics('refunding')).toMatchObject({ completed: 1 }));
    expect((await memory.list('shown-agent')).sort()).toEqual(['canary-chat', 'canary-conversation', 'canary-direct']);
    expect((await memory.getMessages('shown-agent', 'canary-conversation')).at(-1)).toMatchObject({ content: 'hello' });
    await expectDocumented();
  });

  it('processes agree on the secret whose first calls come at once, and a later start has it', async () => {
    const store = await createStore();
    const owner = connect(store.open(contractCodec));
    await owner.counts.get([]);
    const all = [owner, ...Array.from({ length: 5 }, () => connect(store.beside(contractCodec)))];
    for (const one of all) await one.counts.get([]);
    await Promise.all(all.map((one) => one.kv.get('k')));
    await owner.start(handled);
    const event = () => envelope('a', { dedupe: { id: 'once', windowMs: 60_000 } });
    const receipts = await Promise.all(all.map(async (one) => one.publish([event()])));
    expect(receipts.flat().filter(({ deduplicated }) => !deduplicated)).toHaveLength(1);
    for (const one of all) await one.close({ drainMs: 0 });
    const next = connect(store.open(contractCodec));
    await next.start(handled);
    expect(await next.publish([event()])).toMatchObject([{ deduplicated: true }]);
  });

  it('a process without it is refused handlers, keys, values, logs and schedules, and reads the rest', async () => {
    const store = await createStore();
    const owner = connect(store.open(contractCodec));
    await owner.start(handled);
    await owner.publish([envelope('a', { key: 'k' })]);
    const refusal = { code: 'ERR_CODEC_MISMATCH', message: expect.stringContaining('pass the same codec') };
    const beside = connect(store.beside());
    await beside.start({ ...noDeliveries, subscriptions: [] });
    const { kv, log, schedules } = beside;
    const event = envelope('a', { key: 'k' });
    const calls = [
      async () => beside.publish([event]),
      async () => beside.publish([envelope('a')]),
      () => kv.get('k'),
      () => kv.set('k', 'v'),
      () => log.read('l'),
      () => log.append('l', ['x'], { maxEntries: 1, maxBytes: 1, maxAgeMs: 1 }),
      () => schedules.claim({ name: 's', definition: 'd', times: 't', dueAt: 1, events: [event] }),
    ];
    for (const call of calls) await expect(call()).rejects.toMatchObject(refusal);
    expect(await schedules.list()).toEqual([]);
    expect((await beside.counts.get(['a']))[0]?.total).toMatchObject({ received: 1 });
    expect((await beside.lookup.recent('a')).newest).toHaveLength(1);
    await owner.close({ drainMs: 0 });
    // And the refused process leaves nothing open.
    await expect(connect(store.open()).start(handled)).rejects.toMatchObject(refusal);
    await connect(store.open(contractCodec)).start(handled);
  });

  it('a process without it answers a wait by its stored key', async () => {
    const store = await createStore();
    const hub = hubOn(store.open(contractCodec));
    const replied = hub.event<string>({ type: 'replied', key: (customer) => customer });
    hub.workflow(
      createWorkflow({
        name: 'ask',
        run: ({ step }) => step.waitForEvent('reply', replied, { key: 'customer-1' }),
      }),
    );
    await hub.start();
    const asking = await hub.startWorkflow('ask', null);
    await vi.waitFor(async () => expect(await hub.waits()).toMatchObject({ suspended: 1 }));

    const beside = hubOn(store.beside());
    const answer = beside.event<{ key: string }>({ type: 'replied', key: ({ key }) => key });
    await beside.start();
    const [wait] = (await beside.waits()).waits;
    const key = wait?.step.waitsFor?.event?.key ?? '';
    expect(key).toMatch(/^hmac\.[\w-]{22}$/);
    await expect(beside.emit(answer, { key: 'customer-1' })).rejects.toThrow('pass the same codec');
    await beside.emit(answer, { key });
    expect(await asking.result()).toEqual({ key });
  });

  it('data that was written without it is refused', async () => {
    const store = await createStore();
    const owner = connect(store.open());
    await owner.start(handled);
    const refusal = { code: 'ERR_CODEC_MISMATCH', message: expect.stringContaining('another prefix or file') };
    const beside = connect(store.beside(contractCodec));
    await expect(beside.start({ ...noDeliveries, subscriptions: [] })).rejects.toMatchObject(refusal);
    await expect(async () => beside.publish([envelope('a')])).rejects.toMatchObject(refusal);
    await expect(beside.kv.set('k', 'v')).rejects.toMatchObject(refusal);
    await owner.close({ drainMs: 0 });
    await expect(connect(store.open(contractCodec)).start(handled)).rejects.toMatchObject(refusal);
    await connect(store.open()).start(handled);
  });

  it('the first write of a process without handlers decides', async () => {
    const plain = await createStore();
    await connect(plain.open()).publish([envelope('a')]);
    await expect(connect(plain.beside(contractCodec)).kv.get('k')).rejects.toMatchObject({
      code: 'ERR_CODEC_MISMATCH',
    });
    const coded = await createStore();
    const keeper = connect(coded.open());
    // Reads decide nothing.
    await keeper.kv.get('k');
    await keeper.start({ ...noDeliveries, subscriptions: [] });
    const beside = connect(coded.beside(contractCodec));
    await beside.publish([envelope('a', { key: 'k' })]);
    await expect(keeper.kv.set('k', 'v')).rejects.toMatchObject({ code: 'ERR_CODEC_MISMATCH' });
  });

  it('a key of the codec can be removed after a start with the next one', async () => {
    const store = await createStore();
    const codecOf = (...keys: string[]): Codec => ({
      encode: (text) => `${keys[0]}:${contractCodec.encode(text)}`,
      decode(text) {
        const key = keys.find((each) => text.startsWith(`${each}:`));
        if (key === undefined) throw new Error('no key');
        return contractCodec.decode(text.slice(key.length + 1));
      },
    });
    const use = async (codec: Codec): Promise<boolean> => {
      const process = connect(store.open(codec));
      await process.start(handled);
      const dedupe = { id: 'once', windowMs: 60_000 };
      const [receipt] = await process.publish([envelope('a', { dedupe })]);
      await process.close({ drainMs: 0 });
      return receipt?.deduplicated === true;
    };
    expect(await use(codecOf('old'))).toBe(false);
    await expect(use(codecOf('new'))).rejects.toMatchObject({ code: 'ERR_CODEC' });
    expect(await use(codecOf('new', 'old'))).toBe(true);
    expect(await use(codecOf('new'))).toBe(true);
  });
});

it('processes agree on the secret again after Redis has lost its data', async () => {
  const url = redisUrl();
  const open = (): TransportManager =>
    connect(redisTransport({ url, prefix: 'lost', emitTimeoutMs: 60_000, codec: contractCodec }));
  const [first, second] = [open(), open()];
  await first.start(handled);
  await second.start(handled);
  const admin = new Redis(url);
  onTestFinished(() => admin.disconnect());
  await admin.flushall();
  const late = open();
  await late.start(handled);
  const publish = async (transport: TransportManager) => {
    const dedupe = { id: 'once', windowMs: 60_000 };
    return (await transport.publish([envelope('a', { dedupe })]))[0]?.deduplicated;
  };
  // An event that met the loss has waited for the registration.
  for (const transport of [first, second]) await transport.publish([envelope('a')]);
  expect([await publish(late), await publish(first), await publish(second)]).toEqual([false, true, true]);
});
