import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { releasesKey } from '../../transports/stored-keys.js';
import type { Logger, TransportManager } from '../../transports/transport.js';
import { everyPoll, SharedList } from './shared-list.js';

const dayMs = 86_400_000;
const retainedMs = 7 * dayMs;
const maxReleases = 200;
/** Time after which a process writes again that its release is there. */
const seenMs = 30_000;

/** Time in which processes of a service had a release. */
export interface ReleaseIntrospection {
  readonly service: string;
  readonly release: string;
  /** Start of its first process in epoch milliseconds. */
  readonly startedAt: number;
  /** End of its last process, to within half a minute if that was killed; absent while there is one. */
  readonly endedAt?: number;
}

interface StoredRelease extends Omit<ReleaseIntrospection, 'endedAt'> {
  /** Time at which a process of the release was there. */
  readonly seenAt: number;
}

/** Release that a running process has. */
export interface LiveRelease {
  readonly service: string;
  readonly release?: string | undefined;
}

/** Parts of a hub that its releases use. */
export interface ReleasesParts {
  readonly transport: Pick<TransportManager, 'service' | 'clock' | 'kv'>;
  readonly logger: Logger;
  readonly release: string | undefined;
}

/**
 * Releases of a store: one value that names the starts of each service's releases in the last 7 days, at most 200, and
 * when a process of each was last there. Processes of a release that is known write nothing but that, every half minute.
 */
export class Releases {
  readonly #parts: ReleasesParts;
  readonly #list: SharedList<StoredRelease>;
  #stop: (() => void) | undefined;

  constructor(parts: ReleasesParts) {
    this.#parts = parts;
    this.#list = new SharedList(parts.transport, {
      key: releasesKey,
      name: 'releases',
      ttlMs: retainedMs,
      isEntry: isRelease,
      retain: (all, now) => retained(all, now).slice(-maxReleases),
    });
  }

  /** Notes the start of a process. @param live releases of the processes that run beside it */
  async open(live: readonly LiveRelease[]): Promise<void> {
    const { release, transport } = this.#parts;
    if (release === undefined) return;
    const { service } = transport;
    const isLive = live.some((process) => process.service === service && process.release === release);
    await this.#list.change((all, now) => {
      const ofService = all.filter((one) => one.service === service);
      const known = ofService.findLast((one) => one.release === release);
      // A release that returns after another one starts again.
      if (known !== undefined && (isLive || known === ofService.at(-1))) return seen(all, known, now);
      return [...all, { service, release, startedAt: now, seenAt: now }];
    });
    this.#stop?.();
    this.#stop = everyPoll(() => this.#note(seenMs));
  }

  /** Notes the end of the process. Never rejects. */
  async close(): Promise<void> {
    this.#stop?.();
    if (this.#stop !== undefined) await this.#note(0);
    this.#stop = undefined;
  }

  /**
   * Returns the releases of the last 7 days, the earliest start first.
   *
   * @param live releases of running processes, which are read at the same time
   */
  async read(live: Promise<readonly LiveRelease[]>): Promise<readonly ReleaseIntrospection[]> {
    const [stored, processes] = await Promise.all([this.#list.recent(), live]);
    const latest = new Map(stored.map((one) => [keyOf(one), one]));
    const running = new Set(processes.map(keyOf));
    return retained(stored, this.#parts.transport.clock.now()).map((one) => {
      const { seenAt, ...shown } = one;
      const isRunning = latest.get(keyOf(one)) === one && running.has(keyOf(one));
      return isRunning ? shown : { ...shown, endedAt: seenAt };
    });
  }

  /** Notes that the process is there, unless another one did so less than `afterMs` ago. */
  async #note(afterMs: number): Promise<void> {
    const { transport, release, logger } = this.#parts;
    const { service } = transport;
    try {
      await this.#list.change((all, now) => {
        const own = all.findLast((one) => one.service === service && one.release === release);
        // The store may have lost it.
        if (own === undefined && release !== undefined)
          return [...all, { service, release, startedAt: now, seenAt: now }];
        return own === undefined || now - own.seenAt < afterMs ? undefined : seen(all, own, now);
      });
    } catch (err) {
      logger.debug({ err }, 'the release could not be stored, will retry');
    }
  }
}

function keyOf({ service, release }: LiveRelease): string {
  return JSON.stringify([service, release]);
}

function seen(all: readonly StoredRelease[], known: StoredRelease, now: number): readonly StoredRelease[] {
  return all.map((one) => (one === known ? { ...one, seenAt: Math.max(one.seenAt, now) } : one));
}

function retained(all: readonly StoredRelease[], now: number): readonly StoredRelease[] {
  return all.filter(({ seenAt }) => seenAt > now - retainedMs);
}

function isRelease(value: unknown): value is StoredRelease {
  const { service, release, startedAt, seenAt } = Object(value) as Partial<Record<keyof StoredRelease, unknown>>;
  const areTexts = typeof service === 'string' && typeof release === 'string';
  return areTexts && typeof startedAt === 'number' && typeof seenAt === 'number';
}

/**
 * Returns the release of the environment: `HUBLINE_RELEASE`, or else the version of the application's package. That is the
 * nearest `package.json` above the main module, or above the working directory if a package runs the application.
 */
export function defaultRelease(): string | undefined {
  const { HUBLINE_RELEASE: release } = process.env;
  if (release !== undefined && release !== '') return release;
  const [, main] = process.argv;
  const isOwn = main !== undefined && !/[\\/]node_modules[\\/]/.test(main);
  return versionAbove(isOwn ? dirname(main) : process.cwd());
}

const versions = new Map<string, string | undefined>();

function versionAbove(folder: string): string | undefined {
  if (!versions.has(folder)) versions.set(folder, readVersion(folder));
  return versions.get(folder);
}

function readVersion(folder: string): string | undefined {
  try {
    const { version } = Object(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))) as { version?: unknown };
    // A folder may have one that only says which modules it has.
    if (typeof version === 'string' && version !== '') return version;
  } catch {
    // There is none, or it is not JSON.
  }
  const parent = dirname(folder);
  return parent === folder ? undefined : readVersion(parent);
}
