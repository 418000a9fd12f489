import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, it, onTestFinished, vi } from 'vitest';
import { type RedisServer, startRedisServer } from '../scripts/redis-server.js';
import { ConversationMemory } from './agents/memory/conversation-memory.js';
import { agentOf } from './agents/scripted-agent.fixture.js';
import { canary, recordingLogger, shownBy } from './canary.fixture.js';
import { createHub } from './hub/create-hub.js';
import { deferred } from './hub/hub.fixture.js';
import { createWorkflow } from './hub/runs/workflow.js';
import { recordTelemetry } from './testing/record-telemetry.fixture.js';
import { redisTransport } from './transports/redis/redis-transport.js';

const createUser = (admin: Redis): Promise<unknown> =>
  admin.call('ACL', 'SETUSER', 'shop', 'on', `>${canary}`, '~*', '&*', '+@all');

/** Way in which Redis refuses what the hub stores, and its end. */
interface Refusal {
  begin(admin: Redis, server: RedisServer): Promise<unknown>;
  end(admin: Redis, server: RedisServer): Promise<unknown>;
  /** Line of the log that shows that the hub noticed. */
  readonly logged: RegExp;
}

const refusals: Readonly<Record<string, Refusal>> = {
  'its memory is used up': {
    begin: (admin) => admin.config('SET', 'maxmemory', '1'),
    end: (admin) => admin.config('SET', 'maxmemory', '0'),
    logged: /reached its maxmemory/,
  },
  'it cannot persist (MISCONF)': {
    async begin(admin) {
      // Redis cannot replace a folder with its file.
      const [, folder = ''] = (await admin.config('GET', 'dir')) as string[];
      await mkdir(join(folder, 'occupied'));
      await admin.config('SET', 'dbfilename', 'occupied');
      await admin.config('SET', 'save', '3600 1000000');
      await admin.bgsave();
      await vi.waitFor(async () => expect(await admin.info('persistence')).toContain('rdb_last_bgsave_status:err'));
    },
    end: (admin) => admin.config('SET', 'save', ''),
    logged: /MISCONF/,
  },
  'it denies a permission (NOPERM)': {
    begin: (admin) => admin.call('ACL', 'SETUSER', 'shop', '-@write', '-@scripting'),
    end: (admin) => admin.call('ACL', 'SETUSER', 'shop', '+@all'),
    logged: /denied a permission/,
  },
  'its password changes and the connection is lost': {
    async begin(admin) {
      await admin.call('ACL', 'SETUSER', 'shop', 'resetpass', '>another');
      await admin.call('CLIENT', 'KILL', 'USER', 'shop');
    },
    end: (admin) => admin.call('ACL', 'SETUSER', 'shop', `>${canary}`),
    logged: /connection to Redis lost/,
  },
  'it is gone': {
    begin: (_, server) => server.stop('SIGKILL'),
    async end(admin, server) {
      await server.start();
      await createUser(admin);
    },
    logged: /connection to Redis lost/,
  },
};

it.each(Object.entries(refusals))(
  'no secret leaves the process when Redis refuses what it stores: %s',
  async (_, refusal) => {
    const server = await startRedisServer(['--enable-protected-configs', 'yes']);
    const admin = new Redis(server.url);
    admin.on('error', () => {});
    onTestFinished(async () => {
      admin.disconnect();
      await server.release();
    });
    await createUser(admin);
    const url = `redis://shop:${encodeURIComponent(canary)}@127.0.0.1:${server.port}`;
    const telemetry = recordTelemetry();
    const { logger, text } = recordingLogger();
    const hub = createHub({ logger, transport: redisTransport({ url, emitTimeoutMs: 5_000 }) });
    onTestFinished(async () => {
      await hub.stop({ drainMs: 0 });
    });
    const gate = deferred();
    hub.event({
      type: 'ordered',
      onSuccess: 'shipped',
      handler: async ({ payload }) => {
        await gate.promise;
        return payload;
      },
    });
    hub.event({ type: 'shipped' });
    const { agent } = agentOf([canary], { memory: new ConversationMemory({ transport: hub.transport }) });
    const answer = agent.asHandler({ conversation: () => canary });
    hub.event({
      type: 'asked',
      handler: async (ctx) => {
        await gate.promise;
        return answer(ctx);
      },
    });
    const flow = createWorkflow({
      name: 'flow',
      run: async ({ step }) => {
        await gate.promise;
        return step.run('only', () => ({ secret: canary }));
      },
    });
    hub.workflow(flow);
    await hub.start();
    const secret = { secret: canary };
    await Promise.all([hub.emit('ordered', secret), hub.emit('asked', secret), hub.startWorkflow(flow, secret)]);
    await vi.waitFor(async () => {
      const { events, workflows } = await hub.introspect();
      const active = [...events, ...workflows].reduce((sum, { metrics }) => sum + metrics.active, 0);
      expect(active).toBe(3);
    });

    await refusal.begin(admin, server);
    const operations = [
      () => hub.emit('ordered', secret, { dedupeId: canary }),
      () => hub.emitMany('ordered', [secret]),
      () => hub.startWorkflow(flow, secret),
      () => hub.transport.kv.set(canary, canary),
      () => hub.transport.kv.append(canary, [canary]),
    ];
    const ends = await Promise.allSettled(operations.map((operation) => operation()));
    for (const end of ends) {
      expect(end).toEqual({ status: 'rejected', reason: expect.any(Error) });
      if (end.status === 'rejected') logger.error({ err: end.reason }, 'an operation was refused');
    }
    gate.resolve();
    await vi.waitFor(() => expect(text()).toMatch(refusal.logged));
    await refusal.end(admin, server);
    await vi.waitFor(async () => expect(await hub.metrics('ordered')).toBeDefined(), {
      interval: 100,
    });
    const told = [await shownBy(hub), await telemetry.exported()];
    await hub.stop({ drainMs: 0 });
    for (const part of [...told, text()]) expect(part).not.toContain(canary);
  },
);

it('no secret leaves the process when Redis refuses its password at the start', async () => {
  const server = await startRedisServer();
  const admin = new Redis(server.url);
  await admin.config('SET', 'requirepass', 'another');
  admin.disconnect();
  onTestFinished(() => server.release());
  const { logger, text } = recordingLogger();
  const url = `redis://default:${encodeURIComponent(canary)}@127.0.0.1:${server.port}`;
  const hub = createHub({ logger, transport: redisTransport({ url, emitTimeoutMs: 500 }) });
  const err: unknown = await hub.start().catch((error: unknown) => error);
  expect(err).toBeInstanceOf(Error);
  logger.error({ err }, 'the hub did not start');
  await hub.stop({ drainMs: 0 });
  expect(text()).not.toContain(canary);
});
