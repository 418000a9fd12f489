import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { type RedisServer, startRedisServer } from '../scripts/redis-server.js';
import { ConversationMemory } from './agents/memory/conversation-memory.js';
import { agentOf } from './agents/scripted-agent.fixture.js';
import { canary, recordingLogger, shownBy } from './canary.fixture.js';
import { nodeFailures, packageFailures } from './foreign-errors.fixture.js';
import { createHub } from './hub/create-hub.js';
import type { Hub } from './hub/hub.js';
import { createWorkflow } from './hub/runs/workflow.js';
import { recordTelemetry } from './testing/record-telemetry.fixture.js';
import { memoryTransport } from './transports/memory/memory-transport.js';
import { redisTransport } from './transports/redis/redis-transport.js';
import type { Transport } from './transports/transport.js';

let server: RedisServer;
beforeAll(async () => {
  server = await startRedisServer();
});
afterAll(async () => {
  await server.release();
});

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
  ...nodeFailures(canary),
  ...packageFailures(canary),
};

async function failInEveryWay(hub: Hub): Promise<void> {
  for (const [type, fail] of Object.entries(failures)) {
    const retry = { maxAttempts: 2, initialDelayMs: 0 };
    hub.event({ type, handler: ({ payload }) => fail(payload), retry, onComplete: 'ended' });
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
  const { agent } = agentOf([{ content: canary, toolCalls: [{ name: canary, arguments: { [canary]: canary } }] }], {
    systemPrompt: canary,
    memory: new ConversationMemory({ transport: hub.transport }),
    maxIterations: 1,
  });
  hub.event({ type: 'agent', handler: agent.asHandler({ conversation: () => canary }), onComplete: 'ended' });
  hub.event({ type: 'options', handler: ({ emit }) => emit('ended', null, { requestId: `${canary}\n` }) });
  await hub.start();
  const payload = { secret: canary, [canary]: canary };
  const types = [...Object.keys(failures), 'emits', 'agent', 'options'];
  for (const type of types) await hub.emit(type, payload);
  for (const type of Object.keys(failures)) await hub.startWorkflow(`run ${type}`, payload);
  await vi.waitFor(async () => {
    for (const type of types) expect(await hub.metrics(type), type).toMatchObject({ failed: 1 });
    const { workflows } = await hub.introspect();
    for (const { name, metrics } of workflows) expect(metrics, name).toMatchObject({ failed: 1 });
  });
}

it.each(['memory', 'redis'])('no secret leaves the process when handlers fail in every way, on %s', async (name) => {
  const telemetry = recordTelemetry();
  const { logger, text } = recordingLogger();
  const transport: Transport =
    name === 'memory'
      ? memoryTransport()
      : redisTransport({ url: server.url, prefix: randomUUID(), emitTimeoutMs: 60_000 });
  const hub = createHub({ logger, transport });
  onTestFinished(async () => {
    await hub.stop({ drainMs: 0 });
  });
  await failInEveryWay(hub);
  const shown = await shownBy(hub);
  const exported = await telemetry.exported();
  expect(shown).toContain('card declined');
  expect(text()).toContain('card declined');
  expect(exported).toContain('card declined');
  for (const told of [shown, text(), exported]) expect(told).not.toContain(canary);
});
