/**
 * Hubline on many machines: `redisTransport`, on BullMQ.
 *
 * @module hubline/redis
 */

export type { ClientOptions, RedisTransportOptions } from './redis-options.js';
export { redisTransport } from './redis-transport.js';
