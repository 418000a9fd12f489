/**
 * Hubline on many machines: `redisTransport`, on BullMQ.
 *
 * @module hubline/redis
 */

export type { Transport } from '../transport.js';
export type { ClientOptions, RedisTransportOptions } from './redis-options.js';
export type { RedisTransport } from './redis-transport.js';
export { redisTransport } from './redis-transport.js';
export type { RetireOptions, RetireResult } from './removal/remove-service.js';
