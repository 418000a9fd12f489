import type { Redis } from 'ioredis';
import type { Logger } from '../../transport.js';
import type { RedisSettings } from '../redis-options.js';
import { adaptScript } from './bullmq-scripts.js';
import { logConnection } from './connection-log.js';
import { connectRedis } from './optional-dependencies.js';

// BullMQ waits for a job up to 10 s per command: a connection that is silent for longer is lost.
const socketTimeoutMs = 15_000;

/** Connects for consuming. Commands that are sent while the connection is lost are sent again when it is restored. */
export async function connectConsumer(settings: RedisSettings, logger: Logger): Promise<Redis> {
  const connection = await connectRedis(settings, {
    resends: true,
    options: {
      maxRetriesPerRequest: null,
      socketTimeout: socketTimeoutMs,
      // ioredis would ignore a rejected subscription.
      autoResubscribe: false,
    },
  });
  logConnection(connection, logger);
  const define = connection.defineCommand.bind(connection);
  connection.defineCommand = (name, definition) =>
    define(name, { ...definition, lua: adaptScript(name, definition.lua) });
  return connection;
}
