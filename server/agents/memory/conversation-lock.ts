import type { Clock, Timer } from '../../transports/clock.js';
import type { KeyValueStore } from '../../transports/key-values.js';
import { abortable, delay } from '../abortable.js';

const queues = new WeakMap<object, ConversationQueue>();

/** Lets the runs of one process use a conversation one after another, in order of arrival. */
export class ConversationQueue {
  /** Returns the queue of all that share the owner: a store, a memory without a lock of its own, or a durable run. */
  static of(owner: object): ConversationQueue {
    let queue = queues.get(owner);
    if (queue === undefined) {
      queue = new ConversationQueue();
      queues.set(owner, queue);
    }
    return queue;
  }

  readonly #last = new Map<string, Promise<void>>();

  /** Waits for the earlier runs of the conversation, and returns a function that lets the next one start. */
  async enter(conversation: string, signal: AbortSignal | undefined): Promise<() => void> {
    const ahead = this.#last.get(conversation);
    let release: () => void = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const own = ahead === undefined ? released : ahead.then(() => released);
    this.#last.set(conversation, own);
    void own.then(() => {
      if (this.#last.get(conversation) === own) this.#last.delete(conversation);
    });
    if (ahead === undefined) return release;
    try {
      await abortable(ahead, signal);
    } catch (error) {
      release();
      throw error;
    }
    return release;
  }
}

/** Time after which the lease of a crashed process expires. */
const leaseMs = 30_000;
const renewMs = leaseMs / 3;
/** Value of a lease that nobody has. */
const released = '';
const firstPollMs = 25;
const maxPollMs = 1_000;

/**
 * Waits for the lease on a key, and returns a function that releases it. The lease is renewed until then. One that an
 * earlier attempt of the same owner has is taken over: its process has died, or has lost the run.
 *
 * A process that is paused for longer than `leaseMs` loses its lease without noticing. The messages of two runs may
 * then alternate in the store, and their `exchange` still separates them.
 */
export async function acquireLease(
  kv: KeyValueStore,
  clock: Clock,
  key: string,
  owner: string,
  signal: AbortSignal | undefined,
): Promise<() => Promise<void>> {
  const token = `${owner} ${crypto.randomUUID()}`;
  for (let pollMs = firstPollMs; ; pollMs = Math.min(2 * pollMs, maxPollMs)) {
    signal?.throwIfAborted();
    if (await kv.set(key, token, { ttlMs: leaseMs, ifAbsent: true })) break;
    const held = await kv.get(key);
    const isFree = held === released || held?.slice(0, held.lastIndexOf(' ')) === owner;
    if (isFree && (await kv.compareAndSet(key, held, token, { ttlMs: leaseMs }))) break;
    await delay(clock, pollMs, signal);
  }
  let isReleased = false;
  const renew = async (): Promise<void> => {
    try {
      await kv.compareAndSet(key, token, token, { ttlMs: leaseMs });
    } catch {
      // The store is unavailable: the run's own writes report it, and the next renewal tries again.
    }
    if (!isReleased) timer = renewLater();
  };
  const renewLater = (): Timer => {
    const later = clock.after(renewMs, () => void renew());
    // The lease of a process that has ended expires.
    later.unref?.();
    return later;
  };
  let timer = renewLater();
  return async () => {
    isReleased = true;
    timer.cancel();
    // Not deleted: another attempt may have taken it over.
    await kv.compareAndSet(key, token, released, { ttlMs: 1 });
  };
}
