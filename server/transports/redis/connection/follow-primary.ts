import type { RedisOptions } from 'ioredis';
import { type Address, isReadOnlyReply, movedTo } from '../redis-errors.js';

/** Options of ioredis that the functions below read and change: ioredis calls them as methods of its options. */
interface LiveOptions {
  host?: string | undefined;
  port?: number | undefined;
}

const reconnect = 1;
const reconnectAndResend = 2;

const initialDelayMs = 50;
const maxDelayMs = 1_000;

/** Returns the delay before a reconnection attempt, in milliseconds. */
function reconnectDelayMs(attempt: number): number {
  return Math.min(attempt * initialDelayMs, maxDelayMs);
}

/**
 * Returns options with which a client follows the primary. After a failover, a server that is a replica now rejects
 * writes with `READONLY`: the client connects again, which finds the new primary behind the same name or through
 * Sentinel. In a cluster a server that does not own the keys rejects with `MOVED`: the client connects to the owner, and
 * returns to the configured address if the owner is unreachable.
 *
 * @param resends if the client sends a rejected command again; if not, the caller does
 */
export function followPrimary(
  configured: () => Address,
  { resends }: { resends: boolean },
): Required<Pick<RedisOptions, 'reconnectOnError' | 'retryStrategy'>> {
  const connections = new WeakMap<LiveOptions, { rejections: number; isRejected: boolean }>();
  const stateOf = (options: LiveOptions): { rejections: number; isRejected: boolean } => {
    const state = connections.get(options) ?? { rejections: 0, isRejected: false };
    connections.set(options, state);
    return state;
  };
  const answer = resends ? reconnectAndResend : reconnect;
  return {
    // BullMQ copies the options for its own connection: `this` are those of the connection at hand.
    reconnectOnError(this: LiveOptions, { message }: Error) {
      const owner = movedTo(message);
      if (owner === undefined && !isReadOnlyReply(message)) return false;
      Object.assign(this, owner);
      stateOf(this).isRejected = true;
      return answer;
    },
    retryStrategy(this: LiveOptions, attempt: number) {
      const state = stateOf(this);
      state.rejections = state.isRejected ? state.rejections + 1 : attempt > 1 ? state.rejections : 0;
      state.isRejected = false;
      if (attempt > 1) Object.assign(this, configured());
      return reconnectDelayMs(Math.max(attempt, state.rejections));
    },
  };
}
