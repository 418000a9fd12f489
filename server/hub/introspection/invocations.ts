import { workflowOf } from '../../transports/delivery.js';
import { invocationsKey } from '../../transports/stored-keys.js';
import type { Logger, TransportManager } from '../../transports/transport.js';
import type { InvocationNotes } from '../events/attempt-ctx.js';
import { SharedList } from './shared-list.js';

const dayMs = 86_400_000;
const retainedMs = 7 * dayMs;
const maxStored = 500;
/** Time after which a process stores again that one workflow invokes another. */
const repeatMs = dayMs;
const flushMs = 1_000;

interface StoredInvocation {
  readonly from: string;
  readonly to: string;
  /** Time at which a process of its day first saw it. */
  readonly at: number;
}

/** Parts of a hub that its invocations use. */
export interface InvocationsParts {
  readonly transport: Pick<TransportManager, 'clock' | 'kv'>;
  readonly logger: Logger;
}

/**
 * Workflows that started child runs of others in the last 7 days. Nothing but the function of a workflow says so: each
 * process stores the first invocation of a pair, and then one per day.
 */
export class Invocations implements InvocationNotes {
  readonly #parts: InvocationsParts;
  readonly #list: SharedList<StoredInvocation>;
  /** Times at which this process noted pairs. */
  readonly #notedAt = new Map<string, Map<string, number>>();
  #new: StoredInvocation[] = [];
  /** Number of changes that this process stored. */
  revision = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: InvocationsParts) {
    this.#parts = parts;
    this.#list = new SharedList(parts.transport, {
      key: invocationsKey,
      name: 'invocations',
      ttlMs: retainedMs,
      isEntry: isStored,
      retain: (all, now) => all.filter(({ at }) => now - at < retainedMs).slice(-maxStored),
    });
  }

  note(parentType: string, to: string): void {
    const from = workflowOf(parentType);
    if (from === undefined) return;
    const now = this.#parts.transport.clock.now();
    const ofParent = this.#notedAt.get(from) ?? new Map<string, number>();
    const notedAt = ofParent.get(to);
    if (notedAt !== undefined && now - notedAt < repeatMs) return;
    this.#notedAt.set(from, ofParent.set(to, now));
    this.#new.push({ from, to, at: now });
    // Other processes do not see a fake clock.
    this.#timer ??= setTimeout(() => void this.flush(), flushMs).unref();
  }

  /** Stores what was noted. Never rejects. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const added = this.#new;
    this.#new = [];
    if (added.length === 0) return;
    const isAdded = ({ from, to }: StoredInvocation): boolean =>
      added.some((other) => other.from === from && other.to === to);
    try {
      await this.#list.change((all) => [...all.filter((one) => !isAdded(one)), ...added]);
      this.revision += 1;
    } catch (err) {
      for (const { from, to } of added) this.#notedAt.get(from)?.delete(to);
      this.#parts.logger.debug({ err }, 'invocations of workflows could not be stored, will retry');
    }
  }

  /** Returns the names of the workflows that invoked each workflow, sorted. At most 10 seconds old. */
  async parents(): Promise<ReadonlyMap<string, readonly string[]>> {
    const found = new Map<string, string[]>();
    for (const { from, to } of await this.#list.recent()) found.set(to, [...(found.get(to) ?? []), from].sort());
    return found;
  }
}

/** Entries that it does not understand, of another version, are omitted. */
function isStored(value: unknown): value is StoredInvocation {
  const { from, to, at } = Object(value) as Partial<Record<keyof StoredInvocation, unknown>>;
  return typeof from === 'string' && typeof to === 'string' && typeof at === 'number';
}
