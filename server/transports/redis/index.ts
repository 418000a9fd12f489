/**
 * Redis transport: any number of processes and machines share the events of their hubs. It is built on BullMQ.
 *
 * @module hubline/redis
 */

export type { Codec } from '../codec.js';
export { UnexpectedDataError } from '../errors.js';
export type { RetireOptions, RetireResult } from '../services.js';
export type { Transport } from '../transport.js';
export type { ClientOptions, RefusedOption } from './client-options.js';
export { UnsupportedVersionError } from './redis-errors.js';
export type { RedisTransportOptions } from './redis-options.js';
export type { RedisTransport } from './redis-transport.js';
export { redisTransport } from './redis-transport.js';
