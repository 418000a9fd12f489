import { randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import fastify from 'fastify';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { type RedisServer, startRedisServer } from '../scripts/redis-server.js';
import { createDashboardHandler } from './dashboard/index.js';
import { serve } from './dashboard/test-server.fixture.js';
import { createHub } from './hub/create-hub.js';
import type { Hub } from './hub/hub.js';
import { createWorkflow } from './hub/runs/workflow.js';
import { recordTelemetry } from './telemetry/record-telemetry.fixture.js';
import type { Logger } from './transports/logger.js';
import { memoryTransport } from './transports/memory/memory-transport.js';
import { redisTransport } from './transports/redis/redis-transport.js';
import type { Transport } from './transports/transport.js';

/** Stands wherever a secret can stand. It must not leave the process. */
const canary = 'canary-7f3a@example.com';

let server: RedisServer;
let admin: Redis;
beforeAll(async () => {
  server = await startRedisServer();
  admin = new Redis(server.url);
});
afterAll(async () => {
  admin.disconnect();
  await server.release();
});

/** Logs through pino, as JSON, and as a console prints it. */
function recordingLogger(): { logger: Logger; text: () => string } {
  const lines: string[] = [];
  const pino = fastify({ logger: { level: 'trace', stream: { write: (line: string) => void lines.push(line) } } }).log;
  const at =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (fields: object, message: string): void => {
      pino[level](fields, message);
      lines.push(inspect(fields, { depth: 20, showHidden: true }), message);
    };
  const logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  return { logger, text: () => lines.join('\n') };
}

class ClientError extends Error {
  readonly config = { headers: { authorization: canary } };
  readonly response = { status: 400, data: canary };
}

/** Ways in which a handler fails with the secret in the error of other software. */
const failures: Readonly<Record<string, (payload: unknown) => unknown>> = {
  parser: () => JSON.parse(canary),
  validator: (payload) => z.strictObject({ a: z.string() }).parse(payload),
  client: () => {
    throw new ClientError(`400: ${canary}`);
  },
  fields: (payload) => {
    throw Object.assign(new Error('card declined'), { payload, transcript: [canary] });
  },
  cause: () => {
    throw new Error('no answer', { cause: new ClientError(canary) });
  },
  redis: () => {
    const command = { name: 'auth', args: ['default', canary] };
    throw Object.assign(new Error(`WRONGPASS ${canary}`), { name: 'ReplyError', command });
  },
  result: (payload) => ({ [canary]: 1n, payload }),
};

async function failInEveryWay(hub: Hub): Promise<void> {
  for (const [type, fail] of Object.entries(failures)) {
    hub.event({ type, handler: ({ payload }) => fail(payload), onComplete: 'ended' });
    hub.workflow(
      createWorkflow({ name: `run ${type}`, steps: [{ name: 'step', handler: ({ payload }) => fail(payload) }] }),
    );
  }
  hub.event({ type: 'ended' });
  hub.event({ type: 'checked', schema: z.record(z.email(), z.number()), handler: () => {} });
  hub.event({
    type: 'emits',
    handler: async ({ payload, emit, logger }) => {
      await emit('checked', { [canary]: 'x' }, { requestId: 'r' }).catch((err: unknown) => {
        logger.error({ err }, 'emit failed');
        throw err;
      });
      return payload;
    },
  });
  hub.event({ type: 'options', handler: ({ emit }) => emit('ended', null, { requestId: `${canary}\n` }) });
  await hub.start();
  const payload = { secret: canary, [canary]: canary };
  const types = [...Object.keys(failures), 'emits', 'options'];
  for (const type of types) await hub.emit(type, payload);
  for (const type of Object.keys(failures)) await hub.startWorkflow(`run ${type}`, payload);
  await vi.waitFor(async () => {
    for (const type of types) expect(await hub.metrics(type), type).toMatchObject({ failed: 1 });
    const { workflows } = await hub.introspect();
    for (const { name, metrics } of workflows) expect(metrics, name).toMatchObject({ failed: 1 });
  }, 30_000);
}

/** Returns all that the dashboard shows, and the messages of the dead letters. */
async function shownBy(hub: Hub): Promise<string> {
  const dashboard = await serve(createDashboardHandler(hub));
  const introspection = await dashboard.get('/api/introspection');
  const parts = [introspection.body.toString()];
  const { events } = await hub.introspect();
  for (const { type } of events) {
    parts.push((await dashboard.get(`/api/events/${encodeURIComponent(type)}`)).body.toString());
    const deadLetters = await hub.deadLetters(type);
    parts.push(JSON.stringify(deadLetters.map(({ name, message }) => [name, message])));
  }
  return parts.join('\n');
}

it.each(['memory', 'redis'])('no secret leaves the process when handlers fail in every way, on %s', async (name) => {
  const telemetry = recordTelemetry();
  const { logger, text } = recordingLogger();
  const transport: Transport =
    name === 'memory' ? memoryTransport() : redisTransport({ url: server.url, prefix: randomUUID() });
  const hub = createHub({ logger, transport });
  onTestFinished(async () => {
    await hub.stop({ drainMs: 0 });
  });
  await failInEveryWay(hub);
  const shown = await shownBy(hub);
  const spans = inspect(
    telemetry.spans.map(({ name: spanName, attributes, events, status }) => ({ spanName, attributes, events, status })),
    { depth: 9 },
  );
  expect(shown).toContain('card declined');
  expect(text()).toContain('card declined');
  expect(spans).toContain('card declined');
  for (const told of [shown, text(), spans]) expect(told).not.toContain(canary);
});

it('no secret leaves the process when Redis refuses it', async () => {
  const { logger, text } = recordingLogger();
  const address = `redis://default:${encodeURIComponent(canary)}@127.0.0.1:${server.port}`;
  await admin.config('SET', 'requirepass', 'another');
  const strangers = createHub({ logger, transport: redisTransport({ url: address, emitTimeoutMs: 500 }) });
  await expect(strangers.start()).rejects.toThrow();
  await strangers.stop({ drainMs: 0 });
  await admin.config('SET', 'requirepass', '');

  const transport = redisTransport({ url: server.url, prefix: randomUUID(), emitTimeoutMs: 1_000 });
  const hub = createHub({ logger, transport });
  onTestFinished(async () => {
    await hub.stop({ drainMs: 0 });
  });
  const gate = { open: (): void => {} };
  const opened = new Promise<void>((resolve) => {
    gate.open = resolve;
  });
  hub.event({
    type: 'ordered',
    onSuccess: 'shipped',
    handler: async ({ payload }) => {
      await opened;
      return payload;
    },
  });
  hub.event({ type: 'shipped' });
  await hub.start();
  await hub.emit('ordered', { secret: canary });
  await vi.waitFor(async () => expect(await hub.metrics('ordered')).toMatchObject({ active: 1 }), 20_000);
  // Out of memory: neither the outcome nor an emit can be stored.
  await admin.config('SET', 'maxmemory', '1');
  const rejected: unknown = await hub.emit('ordered', { secret: canary }).catch((error: unknown) => error);
  expect(rejected).toBeInstanceOf(Error);
  gate.open();
  await vi.waitFor(() => expect(text()).toMatch(/reached its maxmemory/), 20_000);
  await admin.config('SET', 'maxmemory', '0');
  await hub.stop({ drainMs: 0 });
  expect(text()).not.toContain(canary);
});
