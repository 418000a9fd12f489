import { randomUUID } from 'node:crypto';
import { HubError, quote } from '../errors.js';
import { checkName, OptionChecker } from '../options.js';
import {
  maxStoredSchedules,
  type StoredSchedule,
  storedScheduleId,
  type TransportManager,
} from '../transports/transport.js';
import { PayloadTooLargeError } from './errors.js';
import type { EventDetails } from './introspection/event-search.js';
import type { Lifecycle } from './lifecycle.js';
import type { Publisher } from './publisher.js';
import type { Registry } from './registry.js';
import {
  type ListSchedulesOptions,
  readOutcome,
  type ScheduleList,
  type ScheduleState,
  type Schedules,
} from './schedule-states.js';
import type { ScheduleIntrospection } from './schedules/schedule-introspection.js';
import {
  maxStoredLength,
  readStoredBody,
  resolveStored,
  type StoredBody,
  type StoredScheduleConfig,
  storedDueTimes,
  storedTimes,
  UnreadableScheduleError,
} from './schedules/stored-schedule.js';

/** As many schedules are stored as a transport has. */
export class TooManySchedulesError extends HubError {
  constructor() {
    super(
      'ERR_TOO_MANY_SCHEDULES',
      `${maxStoredSchedules} schedules are stored, which is the most: remove one with hub.schedules.remove`,
    );
  }
}

/** Parts of a hub that its stored schedules use. */
export interface HubSchedulesParts {
  readonly transport: Pick<TransportManager, 'service' | 'schedules' | 'kv'>;
  readonly publisher: Pick<Publisher, 'draftStored'>;
  readonly registry: Pick<Registry, 'checkOverlap'>;
  readonly lifecycle: Pick<Lifecycle, 'checkEmitting' | 'checkRunning'>;
  /** Describes the schedules of `hub.schedule` of all hubs. */
  introspectOwn(): Promise<readonly ScheduleIntrospection[]>;
  /** Describes stored schedules, without those that cannot be read. */
  introspectStored(schedules: readonly StoredSchedule[]): Promise<readonly ScheduleIntrospection[]>;
  find(id: string): Promise<readonly EventDetails[]>;
}

const defaultLimit = 50;
const maxLimit = 200;
const ownCursor = /^own:(\d{1,9})$/;
const storedCursor = /^stored:(.*)$/s;

/** Schedules that are set at run time, of one hub. */
export class HubSchedules implements Schedules {
  readonly #parts: HubSchedulesParts;

  constructor(parts: HubSchedulesParts) {
    this.#parts = parts;
  }

  async set<TPayload>(config: StoredScheduleConfig<TPayload>): Promise<boolean> {
    const { transport, publisher, registry, lifecycle } = this.#parts;
    lifecycle.checkEmitting('schedules.set');
    // The target's type and the payload's type agree by StoredScheduleConfig.
    const { emit, start, payload, ...given } = config as StoredScheduleConfig;
    const options = resolveStored(config as StoredScheduleConfig);
    const target = { ...(emit !== undefined && { emit }), ...(start !== undefined && { start }) };
    registry.checkOverlap(options, target);
    const event = await publisher.draftStored(target, payload, given.overlap);
    lifecycle.checkEmitting('schedules.set');
    const id = storedScheduleId(options.name, options.key);
    for (;;) {
      const [known, now] = await Promise.all([transport.schedules.get(id), transport.kv.now()]);
      const before = known && readable(known.body);
      const seed = before?.seed ?? randomUUID();
      const body: StoredBody = { config: options, event, service: before?.service ?? transport.service, seed };
      const text = JSON.stringify(body);
      if (before !== undefined && JSON.stringify(before) === text) return false;
      if (text.length > maxStoredLength) {
        throw new PayloadTooLargeError('stored schedule', options.name, Buffer.byteLength(text), maxStoredLength);
      }
      const hasTimes = before !== undefined && storedTimes(before.config) === storedTimes(options);
      const position = known === undefined ? now : hasTimes ? known.position : Math.max(known.position, now);
      const stored = {
        id,
        definition: randomUUID(),
        position,
        lookAt: storedDueTimes(options).next(position),
        body: text,
      };
      const result = await transport.schedules.put(stored, known?.definition);
      if (result === 'full') throw new TooManySchedulesError();
      if (result === 'stored') return true;
    }
  }

  async get(name: string, key?: string): Promise<ScheduleState | undefined> {
    const stored = await this.#parts.transport.schedules.get(idOf(name, key, 'get'));
    if (stored === undefined) return undefined;
    const [state] = await this.#statesOf([stored]);
    if (state === undefined) throw new UnreadableScheduleError();
    return state;
  }

  async list(options: ListSchedulesOptions = {}): Promise<ScheduleList> {
    const check = new OptionChecker(options, ['after', 'limit'], 'schedules.list');
    const { after = 'own:0', limit = defaultLimit } = options;
    check.count('limit', limit, { max: maxLimit });
    const [, from] = ownCursor.exec(after) ?? [];
    const [, afterId = ''] = storedCursor.exec(after) ?? [];
    check.that(from !== undefined || storedCursor.test(after), 'after', 'the property next of a list', after);
    const own = await this.#parts.introspectOwn();
    const shown = from === undefined ? [] : own.slice(Number(from), Number(from) + limit);
    const room = limit - shown.length;
    // One more than is shown: it tells if the list goes on.
    const page = await this.#parts.transport.schedules.page(afterId, room + 1);
    const stored = page.schedules.slice(0, room);
    const states = [...(await this.#withOutcomes(shown)), ...(await this.#statesOf(stored))];
    const total = own.length + page.total;
    if (from !== undefined && Number(from) + limit < own.length) {
      return { schedules: states, total, next: `own:${Number(from) + limit}` };
    }
    const hasMore = page.schedules.length > room;
    return { schedules: states, total, ...(hasMore && { next: `stored:${stored.at(-1)?.id ?? ''}` }) };
  }

  async remove(name: string, key?: string): Promise<boolean> {
    this.#parts.lifecycle.checkRunning('schedules.remove');
    return this.#parts.transport.schedules.remove(idOf(name, key, 'remove'));
  }

  async #statesOf(stored: readonly StoredSchedule[]): Promise<readonly ScheduleState[]> {
    const bodies = new Map(
      stored.flatMap(({ body }) => {
        const found = readable(body);
        return found === undefined ? [] : [[found.seed, found.config] as const];
      }),
    );
    const states = await this.#withOutcomes(await this.#parts.introspectStored(stored));
    return states.map((state) => {
      const { key, startAt, endAt } = bodies.get(state.storedId ?? '') ?? {};
      return {
        ...state,
        ...(key !== undefined && { key }),
        ...(startAt !== undefined && { startAt }),
        ...(endAt !== undefined && { endAt }),
      };
    });
  }

  #withOutcomes(schedules: readonly ScheduleIntrospection[]): Promise<readonly ScheduleState[]> {
    return Promise.all(
      schedules.map(async (schedule) => {
        const last = await readOutcome(schedule, (id) => this.#parts.find(id));
        return last === undefined ? schedule : { ...schedule, last };
      }),
    );
  }
}

function readable(text: string): StoredBody | undefined {
  try {
    return readStoredBody(text);
  } catch {
    return undefined;
  }
}

function idOf(name: string, key: string | undefined, method: string): string {
  checkName(name, `name of schedules.${method}`);
  if (key !== undefined) checkName(key, `key of schedules.${method} of ${quote(name)}`);
  return storedScheduleId(name, key);
}

/** Returns `true` if a schedule of a name was set at run time. */
export async function isStored(name: string, schedules: TransportManager['schedules']): Promise<boolean> {
  const id = storedScheduleId(name, undefined);
  // Those with a key follow the one without.
  const [stored, { schedules: following }] = await Promise.all([schedules.get(id), schedules.page(id, 1)]);
  return stored !== undefined || following.some((schedule) => schedule.id.startsWith(id));
}
