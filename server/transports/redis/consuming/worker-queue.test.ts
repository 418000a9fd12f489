import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { startRedisServer } from '../../../../scripts/redis-server.js';
import { silentLogger } from '../../transport.js';
import { CommandClient } from '../connection/command-client.js';
import { connectConsumer, loadBullmq } from '../connection/connect-redis.js';
import { UnsupportedVersionError } from '../redis-errors.js';
import { resolveRedisOptions } from '../redis-options.js';
import { LeaseRecorder } from './lease-recorder.js';
import { WorkerQueue } from './worker-queue.js';

it('does not start with a version of BullMQ that it does not know', async () => {
  const server = await startRedisServer();
  const settings = resolveRedisOptions({ url: server.url, prefix: randomUUID() });
  const connection = await connectConsumer(settings, silentLogger);
  try {
    const define = connection.defineCommand.bind(connection);
    connection.defineCommand = (name, { lua, ...rest }) => define(name, { ...rest, lua: `${lua}\n-- changed` });
    const bullmq = await loadBullmq();
    const recorder = new LeaseRecorder(new CommandClient(settings, silentLogger), 'shop', settings);
    const queue = new WorkerQueue(
      { name: 'shop', maxJobs: 1, slots: undefined },
      bullmq,
      { connection, settings, recorder, processId: 'p' },
      async () => {},
    );
    queue.onError(() => {});
    await expect(queue.start()).rejects.toThrow(UnsupportedVersionError);
  } finally {
    connection.disconnect();
    await server.release();
  }
});
