/**
 * Hubline on many machines: `redisTransport`, on BullMQ.
 *
 * @module
 */

export type { RedisTransportOptions } from './redis-options.js';
export { redisTransport } from './redis-transport.js';
