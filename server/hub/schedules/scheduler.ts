import { quote } from '../../errors.js';
import type { Timer } from '../../transports/clock.js';
import type { Envelope } from '../../transports/delivery.js';
import type {
  ClaimResult,
  Logger,
  ScheduleOpening,
  ScheduleRecord,
  TransportManager,
} from '../../transports/transport.js';
import { observeSends } from '../observability.js';
import { catchUpPosition, type RegisteredSchedule } from './schedule.js';

/** Parts of a hub that its schedules use. */
export interface SchedulerParts {
  readonly transport: Pick<TransportManager, 'service' | 'clock' | 'schedules'>;
  readonly logger: Logger;
  readonly publisher: {
    /** Creates the event of a due time. Rejects if the payload is invalid. */
    prepareScheduled(schedule: RegisteredSchedule, dueAt: number): Promise<Envelope>;
  };
}

/** Milliseconds after which a due time that no process claimed counts as missed. */
const graceMs = 60_000;
// A clock that is set while a timer runs is noticed after this time.
const maxTimerMs = 3_600_000;
const replacedRetryMs = 30_000;
const firstRetryMs = 1_000;
const maxRetryMs = 30_000;

/** One schedule of this process. */
interface Slot {
  readonly schedule: RegisteredSchedule;
  position: number;
  /** Next time to look at the schedule; infinite if it is never due again. */
  lookAt: number;
  failures: number;
  isBusy: boolean;
}

/** Claims the due times of a hub's schedules. All processes of a service do; the transport grants each due time once. */
export class Scheduler {
  readonly #parts: SchedulerParts;
  readonly #schedules: readonly RegisteredSchedule[];
  #slots: readonly Slot[] = [];
  #timer: Timer | undefined;
  #isStopped = false;
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

  /** Adds this process to its schedules, decides on missed due times, and begins to claim. */
  async open(): Promise<void> {
    const { transport } = this.#parts;
    if (this.#schedules.length === 0) return;
    for (;;) {
      const records = (await transport.schedules.list()).filter(({ service }) => service === transport.service);
      const byName = new Map(records.map((record) => [record.name, record]));
      const now = transport.clock.now();
      const openings = this.#schedules.map((schedule) => createOpening(schedule, byName.get(schedule.name), now));
      // Another process changed a schedule in between: its decision on missed due times holds.
      if (!(await transport.schedules.open(openings))) continue;
      this.#slots = openings.map(({ position }, index) => ({
        schedule: this.#schedules[index] as RegisteredSchedule, // one opening per schedule
        position,
        lookAt: Number.NEGATIVE_INFINITY,
        failures: 0,
        isBusy: false,
      }));
      this.#look();
      return;
    }
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  #look(): void {
    const now = this.#parts.transport.clock.now();
    for (const slot of this.#slots) if (!slot.isBusy && slot.lookAt <= now) void this.#serve(slot);
    this.#arm();
  }

  #arm(): void {
    this.#timer?.cancel();
    if (this.#isStopped) return;
    const times = this.#slots.filter(({ isBusy }) => !isBusy).map(({ lookAt }) => lookAt);
    const next = Math.min(...times);
    if (next === Number.POSITIVE_INFINITY) return;
    const { clock } = this.#parts.transport;
    this.#timer = clock.after(Math.min(next - clock.now(), maxTimerMs), () => this.#look());
  }

  async #serve(slot: Slot): Promise<void> {
    const { clock } = this.#parts.transport;
    slot.isBusy = true;
    try {
      slot.lookAt = await this.#claimDue(slot);
      slot.failures = 0;
    } catch (err) {
      slot.lookAt = clock.now() + Math.min(maxRetryMs, firstRetryMs * 2 ** slot.failures);
      slot.failures += 1;
      if (!this.#isStopped) {
        this.#parts.logger.warn({ err, schedule: slot.schedule.name }, 'due time could not be claimed, will retry');
      }
    }
    slot.isBusy = false;
    this.#arm();
  }

  /** Claims all due times that have come. Returns the time of the next look. */
  async #claimDue(slot: Slot): Promise<number> {
    const { clock } = this.#parts.transport;
    const { schedule } = slot;
    // A due time that has yet to come by the clock of the transport is not missed.
    slot.position = catchUpPosition(schedule, slot.position, clock.now() - this.#aheadMs, graceMs);
    while (!this.#isStopped) {
      const dueAt = schedule.dueTimes.next(slot.position);
      if (dueAt === undefined) return Number.POSITIVE_INFINITY;
      if (dueAt > clock.now()) return dueAt;
      const result = await this.#claim(schedule, dueAt);
      if (result.status === 'claimed') {
        slot.position = dueAt;
        this.#aheadMs = Math.min(this.#aheadMs, clock.now() - dueAt);
      } else if (result.status === 'already') {
        slot.position = Math.max(dueAt, result.position);
      } else if (result.status === 'early') {
        this.#aheadMs = clock.now() - dueAt + result.earlyMs;
        return clock.now() + result.earlyMs;
      } else return clock.now() + replacedRetryMs;
    }
    return Number.POSITIVE_INFINITY;
  }

  async #claim(schedule: RegisteredSchedule, dueAt: number): Promise<ClaimResult> {
    const { name, definition, times } = schedule;
    const events = await this.#events(schedule, dueAt);
    const claim = (sent: readonly Envelope[]): Promise<ClaimResult> =>
      this.#parts.transport.schedules.claim({ name, definition, times, dueAt, events: sent });
    return observeSends(events, claim, { areSent: ({ status }) => status === 'claimed' });
  }

  async #events(schedule: RegisteredSchedule, dueAt: number): Promise<readonly Envelope[]> {
    try {
      return [await this.#parts.publisher.prepareScheduled(schedule, dueAt)];
    } catch (err) {
      this.#parts.logger.error(
        { err, schedule: schedule.name, dueAt },
        `payload of schedule ${quote(schedule.name)} is not valid, so this due time emits nothing`,
      );
      return [];
    }
  }
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
