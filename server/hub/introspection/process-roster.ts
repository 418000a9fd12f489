import { processesKey } from '../../transports/stored-keys.js';
import type { Logger, TransportManager } from '../../transports/transport.js';
import type { ProcessIntrospection, ProcessState } from './process-state.js';
import { everyPoll, SharedList } from './shared-list.js';

const retainedMs = 3_600_000;
const maxProcesses = 600;
/** Time for which the store knows that a process has stopped: it may be listed as running for a moment. */
const stoppedMs = 60_000;
/** Time after a note in which no other process adds one, if their clocks agree. */
const noteIntervalMs = 9_000;
// A process is stored as soon as it runs, perhaps after the list of running ones was read.
const graceMs = 5_000;
/** Age of a note from which a process may be lost: while it is there, it is noted every 10 seconds. */
const suspectMs = 25_000;
const recentMs = 10_000;

/** Process with handlers that ended without `hub.stop()`: it was killed, or the transport lost it. */
export interface LostProcess
  extends Pick<ProcessState, 'id' | 'host' | 'pid' | 'startedAt' | 'active' | 'release'>,
    Pick<ProcessIntrospection, 'service'> {
  /** Epoch milliseconds at which it was last there, to within 10 seconds. `active` is of that time. */
  readonly lostAt: number;
}

interface StoredProcess extends Omit<LostProcess, 'lostAt'> {
  readonly seenAt: number;
  /** Present once it has stopped. */
  readonly stoppedAt?: number;
}

/** Parts of a hub that its roster uses. */
export interface ProcessRosterParts {
  readonly transport: Pick<TransportManager, 'clock' | 'kv'>;
  readonly logger: Logger;
  /** Id of the hub. */
  readonly hubId: string;
  /** Returns the running hubs. */
  readonly processes: () => Promise<readonly ProcessIntrospection[]>;
}

/**
 * Processes with handlers that a store had in the last hour: one value, to which one process of all adds every 10 seconds
 * who is there. Who is not there any more and has not stopped is lost: nobody has to be alive to note it.
 */
export class ProcessRoster {
  readonly #parts: ProcessRosterParts;
  readonly #list: SharedList<StoredProcess>;
  #stop: (() => void) | undefined;
  #last: Promise<void> = Promise.resolve();
  #recent: { readonly at: number; readonly lost: Promise<readonly LostProcess[]> } | undefined;

  constructor(parts: ProcessRosterParts) {
    this.#parts = parts;
    this.#list = new SharedList(parts.transport, {
      key: processesKey,
      name: 'processes',
      ttlMs: retainedMs,
      isEntry: isStored,
      retain: (all, now) => all.filter((one) => isRetained(one, now)).slice(-maxProcesses),
    });
  }

  /** Stores who is there, from now on. Resolves after the first time. Never rejects. */
  open(): Promise<void> {
    this.#last = this.#note();
    this.#stop = everyPoll(async () => {
      this.#last = this.#note({ afterMs: noteIntervalMs });
      await this.#last;
    });
    return this.#last;
  }

  /** Stores that the process has stopped. Never rejects. */
  async close(): Promise<void> {
    if (this.#stop === undefined) return;
    this.#stop();
    this.#stop = undefined;
    await this.#last;
    await this.#note({ stopped: this.#parts.hubId });
  }

  /** Returns the processes that were lost in the last hour, the latest first. */
  async lost(): Promise<readonly LostProcess[]> {
    // In this order: a process that stops says so before it is no longer listed.
    const live = new Set((await this.#parts.processes()).map(({ id }) => id));
    const stored = await this.#list.read();
    const now = this.#parts.transport.clock.now();
    return stored
      .filter(({ id, seenAt, stoppedAt }) => stoppedAt === undefined && !live.has(id) && now - seenAt >= graceMs)
      .filter((one) => isRetained(one, now))
      .map(({ seenAt, ...shown }) => ({ ...shown, lostAt: seenAt }))
      .sort((a, b) => b.lostAt - a.lostAt);
  }

  /**
   * Returns what `lost` does, up to 35 seconds later. Reads nothing but the list while all known processes are there, and
   * otherwise at most every 10 seconds.
   */
  recentlyLost(): Promise<readonly LostProcess[]> {
    const now = this.#parts.transport.clock.now();
    if (this.#recent === undefined || Math.abs(now - this.#recent.at) >= recentMs) {
      const lost = this.#lostSuspects(now);
      this.#recent = { at: now, lost };
      lost.catch(() => {
        this.#recent = undefined;
      });
    }
    return this.#recent.lost;
  }

  async #lostSuspects(now: number): Promise<readonly LostProcess[]> {
    const known = await this.#list.recent();
    const isSuspect = known.some(({ seenAt, stoppedAt }) => stoppedAt === undefined && now - seenAt >= suspectMs);
    return isSuspect ? this.lost() : [];
  }

  /**
   * @param stopped id of the hub that stops
   * @param afterMs time after the last note before which there is nothing to note
   */
  async #note({ stopped, afterMs = 0 }: { readonly stopped?: string; readonly afterMs?: number } = {}): Promise<void> {
    const { processes, logger } = this.#parts;
    // Many processes that start at once repeat their changes, but read once who is there.
    let reading: Promise<readonly ProcessIntrospection[]> | undefined;
    try {
      await this.#list.change(async (all, now) => {
        if (all.some(({ seenAt }) => Math.abs(now - seenAt) < afterMs)) return undefined;
        reading ??= processes();
        const live = (await reading).filter(({ events, workflows }) => events.length + workflows.length > 0);
        return withLive(all, live, now, stopped);
      });
    } catch (err) {
      logger.debug({ err }, 'the processes could not be stored, will retry');
    }
  }
}

/** Returns the known processes with those that are there, which come last. */
function withLive(
  known: readonly StoredProcess[],
  live: readonly ProcessIntrospection[],
  now: number,
  stopped: string | undefined,
): readonly StoredProcess[] {
  const byId = new Map(known.map((one) => [one.id, one]));
  for (const { id, service, host, pid, release, startedAt, active } of live) {
    const stoppedAt = byId.get(id)?.stoppedAt;
    const [named, ended] = [release === undefined ? {} : { release }, stoppedAt === undefined ? {} : { stoppedAt }];
    byId.delete(id);
    byId.set(id, { id, service, host, pid, startedAt, active, ...named, seenAt: now, ...ended });
  }
  // The transport may list it no longer.
  const own = stopped === undefined ? undefined : byId.get(stopped);
  if (own !== undefined) byId.set(own.id, { ...own, seenAt: now, stoppedAt: now });
  return [...byId.values()];
}

function isRetained({ seenAt, stoppedAt }: StoredProcess, now: number): boolean {
  return now - seenAt < (stoppedAt === undefined ? retainedMs : stoppedMs);
}

/** Entries that it does not understand, of another version, are omitted. */
function isStored(value: unknown): value is StoredProcess {
  const { id, service, host, pid, release = '', startedAt, active, seenAt, stoppedAt = 0 } = Object(value);
  const areTexts = [id, service, host, release].every((text) => typeof text === 'string');
  return areTexts && [pid, startedAt, active, seenAt, stoppedAt].every((number) => typeof number === 'number');
}
