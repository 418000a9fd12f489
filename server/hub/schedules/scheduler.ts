import { quote } from '../../errors.js';
import type { Timer } from '../../transports/clock.js';
import type { Envelope } from '../../transports/delivery.js';
import type {
  ClaimResult,
  Logger,
  ScheduleClaim,
  ScheduleOpening,
  ScheduleRecord,
  StoredSchedule,
  TransportManager,
} from '../../transports/transport.js';
import { observeSends } from '../observability.js';
import type { DueTimes } from './due-times.js';
import { type CatchUp, catchUpPosition, type RegisteredSchedule } from './schedule.js';
import { dueEventId, readStoredBody, type ScheduledEvent, storedDueTimes } from './stored-schedule.js';

/** Parts of a hub that its schedules use. */
export interface SchedulerParts {
  readonly transport: Pick<TransportManager, 'service' | 'clock' | 'schedules'>;
  readonly logger: Logger;
  readonly pauses: {
    /** No due time of a stored schedule may be claimed in this process. */
    readonly holdsService: boolean;
    /** No due time of the schedule may be claimed. */
    holdsSchedule(name: string): boolean;
    /** Calls a function after each change. Returns a function that ends this. */
    onChange(listener: () => void): () => void;
  };
  readonly publisher: {
    /** Creates the event of a due time. Rejects if the payload is invalid. */
    prepareScheduled(schedule: RegisteredSchedule, dueAt: number): Promise<Envelope>;
    /** Creates the event of a due time of a stored schedule. */
    prepareStored(event: ScheduledEvent, id: string): Envelope;
    index(envelopes: readonly Envelope[]): Promise<void> | undefined;
  };
}

/** Milliseconds after which a due time that no process claimed counts as missed. */
const graceMs = 60_000;
// A clock that is set while a timer runs is noticed after this time.
const maxTimerMs = 3_600_000;
const replacedRetryMs = 30_000;
const firstRetryMs = 1_000;
const maxRetryMs = 30_000;
/** Number of stored schedules that a process takes at once, and of those that it has at most. */
const takeLimit = 100;
const maxTaken = 500;
/** Milliseconds for which no other process takes what this one has taken. */
const holdMs = 10_000;
const minTakeMs = 50;

/** Schedule as its due times are claimed. */
interface Claimable {
  readonly name: string;
  readonly dueTimes: DueTimes;
  readonly catchUp: CatchUp;
  readonly claim: Pick<ScheduleClaim, 'name' | 'definition' | 'times'>;
  /** Creates the event of a due time. Rejects if the payload is invalid. */
  prepare(dueAt: number): Promise<Envelope>;
}

/** One schedule of this process, or a stored one that it has taken until its due times are claimed. */
interface Slot {
  readonly schedule: Claimable;
  /** Present for a stored schedule: as it is in the store. */
  stored: StoredSchedule | undefined;
  position: number;
  /** Next time to look at the schedule; infinite if it is never due again. */
  lookAt: number;
  failures: number;
  isBusy: boolean;
  /** A due time of a stored schedule was claimed since it was taken. */
  hasClaimed: boolean;
  /** Due times that pass meanwhile are missed. */
  isPaused: boolean;
}

/**
 * Claims the due times of a hub's schedules, which all processes of a service do, and of stored schedules, which all hubs
 * with handlers or schedules do. The transport grants each due time once.
 */
export class Scheduler {
  readonly #parts: SchedulerParts;
  readonly #schedules: readonly RegisteredSchedule[];
  readonly #slots = new Map<string, Slot>();
  /** Time to take stored schedules that are due; infinite if there are none. */
  #takeAt = Number.POSITIVE_INFINITY;
  #isTaking = false;
  #takeFailures = 0;
  /** Number of times that stored schedules may have become due earlier. */
  #wakes = 0;
  #timer: Timer | undefined;
  #isStopped = false;
  #endListening = (): void => {};
  #endWatching = (): void => {};
  /** Milliseconds by which the clock of this process is ahead of the transport's, as far as claims have shown. */
  #aheadMs = 0;

  constructor(schedules: readonly RegisteredSchedule[], parts: SchedulerParts) {
    this.#schedules = schedules;
    this.#parts = parts;
  }

  /** Checks the payloads that are no functions. @throws the errors of `emit` */
  async check(): Promise<void> {
    const now = this.#parts.transport.clock.now();
    for (const schedule of this.#schedules) {
      if (typeof schedule.payload !== 'function') await this.#parts.publisher.prepareScheduled(schedule, now);
    }
  }

  /**
   * Adds this process to its schedules, decides on missed due times, and begins to claim.
   *
   * @param isConsumer the hub has handlers or schedules, so that it claims stored schedules too
   */
  async open(isConsumer: boolean): Promise<void> {
    const { transport, pauses } = this.#parts;
    if (!isConsumer) return;
    if (this.#schedules.length > 0) await this.#openOwn();
    this.#endListening = pauses.onChange(() => this.#resume());
    this.#endWatching = await transport.schedules.watch(() => this.#wake());
    this.#wake();
  }

  async #openOwn(): Promise<void> {
    const { transport } = this.#parts;
    for (;;) {
      const records = (await transport.schedules.list()).filter(({ service }) => service === transport.service);
      const byName = new Map(records.map((record) => [record.name, record]));
      const now = transport.clock.now();
      const openings = this.#schedules.map((schedule) => createOpening(schedule, byName.get(schedule.name), now));
      // Another process changed a schedule in between: its decision on missed due times holds.
      if (!(await transport.schedules.open(openings))) continue;
      for (const [index, { position }] of openings.entries()) {
        const schedule = this.#schedules[index] as RegisteredSchedule; // one opening per schedule
        this.#slots.set(schedule.name, createSlot(this.#claimable(schedule), position));
      }
      return;
    }
  }

  #claimable(schedule: RegisteredSchedule): Claimable {
    const { name, dueTimes, catchUp, definition, times } = schedule;
    const prepare = (dueAt: number): Promise<Envelope> => this.#parts.publisher.prepareScheduled(schedule, dueAt);
    return { name, dueTimes, catchUp, claim: { name, definition, times }, prepare };
  }

  /** A due time is being claimed. */
  get isClaiming(): boolean {
    return this.#isTaking || [...this.#slots.values()].some(({ isBusy }) => isBusy);
  }

  stop(): void {
    this.#isStopped = true;
    this.#endListening();
    this.#endWatching();
    this.#timer?.cancel();
  }

  /** Looks at the schedules that were paused, of which some may have been resumed. */
  #resume(): void {
    for (const slot of this.#slots.values()) if (slot.isPaused) slot.lookAt = Number.NEGATIVE_INFINITY;
    this.#look();
  }

  #wake(): void {
    this.#wakes += 1;
    this.#takeAt = Number.NEGATIVE_INFINITY;
    this.#look();
  }

  #look(): void {
    if (this.#isStopped) return;
    const now = this.#parts.transport.clock.now();
    for (const slot of this.#slots.values()) if (!slot.isBusy && slot.lookAt <= now) void this.#serve(slot);
    if (this.#canTake && this.#takeAt <= now) void this.#take();
    this.#arm();
  }

  get #canTake(): boolean {
    const taken = this.#slots.size - this.#schedules.length;
    return !this.#isTaking && taken + takeLimit <= maxTaken && !this.#parts.pauses.holdsService;
  }

  #arm(): void {
    this.#timer?.cancel();
    let next = this.#canTake ? this.#takeAt : Number.POSITIVE_INFINITY;
    for (const { isBusy, lookAt } of this.#slots.values()) if (!isBusy) next = Math.min(next, lookAt);
    if (next === Number.POSITIVE_INFINITY) return;
    const { clock } = this.#parts.transport;
    this.#timer = clock.after(Math.min(next - clock.now(), maxTimerMs), () => this.#look());
  }

  /** Takes the stored schedules that are due. */
  async #take(): Promise<void> {
    const { transport, logger } = this.#parts;
    const wakes = this.#wakes;
    this.#isTaking = true;
    try {
      const { schedules, nextInMs } = await transport.schedules.take(takeLimit, holdMs);
      const now = transport.clock.now();
      for (const stored of schedules) this.#add(stored, now);
      const waitMs = schedules.length === takeLimit ? 0 : Math.max(nextInMs ?? Number.POSITIVE_INFINITY, minTakeMs);
      this.#takeAt = wakes === this.#wakes ? now + waitMs : Number.NEGATIVE_INFINITY;
      this.#takeFailures = 0;
    } catch (err) {
      this.#takeAt = transport.clock.now() + Math.min(maxRetryMs, firstRetryMs * 2 ** this.#takeFailures);
      this.#takeFailures += 1;
      if (!this.#isStopped) logger.warn({ err }, 'stored schedules could not be read, will retry');
    }
    this.#isTaking = false;
    this.#look();
  }

  #add(stored: StoredSchedule, now: number): void {
    const key = storedKey(stored.id);
    if (this.#slots.get(key)?.isBusy === true) return;
    try {
      const body = readStoredBody(stored.body);
      const { id: name, definition, position } = stored;
      const prepare = async (dueAt: number): Promise<Envelope> =>
        this.#parts.publisher.prepareStored(body.event, dueEventId(body, dueAt));
      const { config } = body;
      const schedule: Claimable = {
        ...{ name: config.name, catchUp: config.catchUp, dueTimes: storedDueTimes(config), prepare },
        claim: { name, definition, times: '' },
      };
      this.#slots.set(key, { ...createSlot(schedule, position), stored, lookAt: now });
    } catch (err) {
      // Another process may be able to: it has another codec, or a newer version.
      this.#parts.logger.error({ err }, 'a stored schedule cannot be read, so it emits nothing');
    }
  }

  async #serve(slot: Slot): Promise<void> {
    const { clock } = this.#parts.transport;
    slot.isBusy = true;
    try {
      const lookAt = await this.#claimDue(slot);
      // It may have been resumed since.
      slot.lookAt = slot.isPaused && !this.#isHeld(slot) ? Number.NEGATIVE_INFINITY : lookAt;
      slot.failures = 0;
    } catch (err) {
      slot.lookAt = clock.now() + Math.min(maxRetryMs, firstRetryMs * 2 ** slot.failures);
      slot.failures += 1;
      if (!this.#isStopped) {
        this.#parts.logger.warn({ err, schedule: slot.schedule.name }, 'due time could not be claimed, will retry');
      }
    }
    slot.isBusy = false;
    const { stored } = slot;
    if (slot.failures > 0 && stored !== undefined) this.#drop(stored);
    this.#look();
  }

  #isHeld({ schedule }: Slot): boolean {
    return this.#parts.pauses.holdsSchedule(schedule.name);
  }

  /** Claims all due times that have come. Returns the time of the next look. */
  async #claimDue(slot: Slot): Promise<number> {
    const { clock } = this.#parts.transport;
    const { schedule, isPaused } = slot;
    slot.isPaused = this.#isHeld(slot);
    if (slot.isPaused && slot.stored === undefined) return Number.POSITIVE_INFINITY;
    // A due time that has yet to come by the clock of the transport is not missed.
    const now = clock.now() - this.#aheadMs;
    slot.position = catchUpPosition(schedule, slot.position, now, isPaused || slot.isPaused ? 0 : graceMs);
    while (!this.#isStopped && !this.#isHeld(slot)) {
      const dueAt = schedule.dueTimes.next(slot.position);
      if (dueAt === undefined || dueAt > clock.now()) return this.#settle(slot, dueAt);
      const result = await this.#claim(slot, dueAt);
      if (result.status === 'claimed') {
        slot.position = dueAt;
        slot.hasClaimed = true;
        this.#aheadMs = Math.min(this.#aheadMs, clock.now() - dueAt);
      } else if (result.status === 'already') {
        slot.position = Math.max(dueAt, result.position);
      } else if (result.status === 'early') {
        this.#aheadMs = clock.now() - dueAt + result.earlyMs;
        return clock.now() + result.earlyMs;
      } else if (slot.stored === undefined) {
        return clock.now() + replacedRetryMs;
      } else {
        // It was set to other values or removed: it is taken again if it is due.
        this.#drop(slot.stored);
        return Number.POSITIVE_INFINITY;
      }
    }
    slot.isPaused = true;
    if (slot.stored !== undefined) await this.#release(slot, slot.stored, clock.now() + holdMs, false);
    return Number.POSITIVE_INFINITY;
  }

  /** Ends the look at a schedule without a due time that has come. Returns the time of the next look. */
  async #settle({ stored, ...slot }: Slot, dueAt: number | undefined): Promise<number> {
    // The clock of the transport is ahead of this one.
    const isEarly = !slot.hasClaimed && dueAt !== undefined && dueAt === stored?.lookAt;
    if (stored !== undefined && !isEarly) {
      await this.#release(slot, stored, dueAt, dueAt !== stored.lookAt);
      return Number.POSITIVE_INFINITY;
    }
    return dueAt ?? Number.POSITIVE_INFINITY;
  }

  /**
   * Leaves a stored schedule to the store, which has it looked at again after the hold, or at the time that it stored with
   * the last claim.
   *
   * @param isMoved stores `lookAt` in any case, and not only with a new position
   */
  async #release(
    { position }: Pick<Slot, 'position'>,
    stored: StoredSchedule,
    lookAt: number | undefined,
    isMoved: boolean,
  ): Promise<void> {
    this.#drop(stored);
    if (this.#isStopped || (position === stored.position && !isMoved)) return;
    const { id, definition, body } = stored;
    await this.#parts.transport.schedules.put({ id, definition, position, lookAt, body }, definition);
    this.#takeBy(lookAt);
  }

  /** Takes a schedule that this process stored when it is due. */
  #takeBy(lookAt: number | undefined): void {
    this.#takeAt = Math.min(this.#takeAt, lookAt ?? Number.POSITIVE_INFINITY);
    // The take under way may have come before.
    if (this.#isTaking) this.#wakes += 1;
  }

  #drop({ id }: StoredSchedule): void {
    this.#slots.delete(storedKey(id));
  }

  async #claim(slot: Slot, dueAt: number): Promise<ClaimResult> {
    const { schedule, stored } = slot;
    const events = await this.#events(schedule, dueAt);
    const lookAt = stored && schedule.dueTimes.next(dueAt);
    const claim = (sent: readonly Envelope[]): Promise<ClaimResult> =>
      this.#parts.transport.schedules.claim({
        ...schedule.claim,
        ...(stored !== undefined && { stored: { lookAt } }),
        dueAt,
        events: sent,
      });
    const result = await observeSends(events, claim, { areSent: ({ status }) => status === 'claimed' });
    // Afterwards, because every process prepares a due time, and one of them claims it.
    if (result.status === 'claimed') await this.#parts.publisher.index(events);
    if (stored !== undefined && result.status === 'claimed') {
      slot.stored = { ...stored, position: dueAt, lookAt };
      this.#takeBy(lookAt);
    }
    return result;
  }

  async #events(schedule: Claimable, dueAt: number): Promise<readonly Envelope[]> {
    try {
      return [await schedule.prepare(dueAt)];
    } catch (err) {
      this.#parts.logger.error(
        { err, schedule: schedule.name, dueAt },
        `payload of schedule ${quote(schedule.name)} is not valid, so this due time emits nothing`,
      );
      return [];
    }
  }
}

function createSlot(schedule: Claimable, position: number): Slot {
  const lookAt = Number.NEGATIVE_INFINITY;
  return {
    schedule,
    stored: undefined,
    position,
    lookAt,
    failures: 0,
    isBusy: false,
    isPaused: false,
    hasClaimed: false,
  };
}

// Names have no control characters.
function storedKey(id: string): string {
  return `\n${id}`;
}

function createOpening(schedule: RegisteredSchedule, record: ScheduleRecord | undefined, now: number): ScheduleOpening {
  const { name, definition, times } = schedule;
  return { name, definition, times, revision: record?.revision, position: positionAt(schedule, record, now) };
}

/** Returns the instant after which due times are to be claimed. */
function positionAt(schedule: RegisteredSchedule, record: ScheduleRecord | undefined, now: number): number {
  if (record === undefined) return now;
  const { position, isOpen, isRemoved, times } = record;
  const isNew = times !== schedule.times || (isRemoved && !isOpen);
  if (isNew) return Math.max(position, now);
  // A process that is running claims what is due, and nothing was missed.
  return isOpen ? position : catchUpPosition(schedule, position, now, 0);
}
