import type { Redis } from 'ioredis';
import type { RateLimit, Subscription } from '../../delivery.js';
import type { Logger } from '../../transport.js';
import { redisKey } from '../connection/keys.js';
import { readArray, readString, unexpected } from '../connection/reply.js';
import { encodeName, serviceTypeOf } from '../names.js';
import { withoutArguments } from '../redis-errors.js';

/** Worker queue that a process serves. */
export interface ServedQueue {
  readonly name: string;
  /**
   * Slots that its jobs take: those that the process has for types without limits, as many of their own, or none,
   * because the gate limits them.
   */
  readonly slots: 'shared' | 'own' | 'none';
}

/** Returns the reply of `scripts.servedQueues`. */
export function readServedQueues(reply: unknown): ServedQueue[] {
  return readArray(reply).map((row) => {
    const [name, slots] = readArray(row).map(readString);
    return { name: name ?? '', slots: readSlots(slots) };
  });
}

function readSlots(slots: string | undefined): ServedQueue['slots'] {
  if (slots === 'shared' || slots === 'own' || slots === 'none') return slots;
  throw unexpected('the slots of a queue', slots);
}

/** One service type, and the settings of a process for it as the rebalance reads them. */
export interface TypeSettings {
  readonly serviceType: string;
  readonly json: string;
}

/** Returns the settings of a subscription. Equal settings have equal JSON. */
export function typeSettings(service: string, subscription: Subscription): TypeSettings {
  const { type, version, concurrency, rate, retainsRuns, retain, triggers, perKey, debounce } = subscription;
  const settings = {
    type,
    version,
    concurrency,
    ...limitsOf(rate),
    keys: perKey === undefined ? undefined : { concurrency: perKey.concurrency, ...limitsOf(perKey.rate) },
    debounce: debounce === undefined ? undefined : { ms: debounce.ms, maxMs: debounce.maxMs },
    retainsRuns: retainsRuns === true ? true : undefined,
    keepCompleted: retain?.completed,
    keepFailed: retain?.failed,
    keepMs: retain?.ageMs === undefined ? undefined : Math.ceil(retain.ageMs),
    // Encoded names contain no comma.
    trigger: triggers === undefined || triggers.length === 0 ? undefined : triggers.map(encodeName).join(),
  };
  return { serviceType: serviceTypeOf(service, type), json: JSON.stringify(settings) };
}

function limitsOf(rate: RateLimit | undefined): { readonly max?: number; readonly perMs?: number } {
  return rate === undefined ? {} : { max: rate.max, perMs: Math.ceil(rate.perMs) };
}

/** Listens for rebalances of a service. Without it a process learns of them with its next heartbeat. */
export class RebalanceListener {
  readonly #connection: Redis;
  readonly #logger: Logger;

  constructor(connection: Redis, logger: Logger) {
    this.#connection = connection;
    this.#logger = logger;
  }

  async start(prefix: string, service: string, onRebalanced: () => void): Promise<void> {
    const channel = redisKey(prefix, 'settled');
    this.#connection.on('message', (from: string, message: string) => {
      if (from === channel && message === service) onRebalanced();
    });
    await this.#subscribe(channel);
    // Announcements are lost while the connection is.
    this.#connection.on('ready', () => void this.#subscribe(channel).then(onRebalanced));
  }

  async #subscribe(channel: string): Promise<void> {
    try {
      await this.#connection.subscribe(channel);
    } catch (error) {
      this.#logger.warn(
        { err: withoutArguments(error) },
        'could not subscribe to rebalances; starts and stops of other processes take up to 5 s to take effect',
      );
    }
  }

  close(): void {
    this.#connection.disconnect();
  }
}
