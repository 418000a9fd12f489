import type { Clock, Timer } from '../../clock.js';
import type { DeclaredEvent, Envelope, Offer, Subscription } from '../../delivery.js';
import { errorOf, LeaseLostError, ShutdownError } from '../../errors.js';
import { type EventStarter, loneEvents } from '../../lone-events.js';
import { formerConnectionMs } from '../../services.js';
import type { CloseResult, ConsumeOptions, Logger } from '../../transport.js';
import type { Argument, Database } from '../connection/database.js';
import { type Fields, itemOf, readFields, readList, readNumber, readOptional, readText } from '../connection/fields.js';
import type { Listener, NotificationListener } from '../connection/listener.js';
import { ReservedSession } from '../connection/reserved-session.js';
import { readError, readOffers, StoredEvent } from '../reads/stored-events.js';
import { ClaimFloor } from './claim-floor.js';
import { LostEvents } from './lost-events.js';
import { OutcomeRecorder } from './outcome-recorder.js';
import { acceptedEvent, type LeasedEvent, PostgresDelivery } from './postgres-delivery.js';
import type { PostgresRuns } from './postgres-runs.js';
import { Upkeep } from './upkeep.js';

// Largest whole number of a function of Postgres.
const maxSlots = 2 ** 31 - 1;
// Outcomes that may be on their way while more starts, of a process with fewer slots: those of a turn take a session of the
// pool.
const leastUnrecorded = 6;

/** Parts that a consumer shares with the other parts of its connection. */
export interface ConsumerParts {
  readonly service: string;
  /** Connection that learns about the work of its own emits from their replies. */
  readonly origin: string;
  readonly database: Database;
  readonly listener: Listener;
  readonly runs: PostgresRuns;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Claim that is about to be sent. */
interface NextClaim {
  readonly args: readonly Argument[];
  /** Starts the deliveries of the reply. Returns true if it has any. */
  take(reply: unknown): boolean;
  /** The call failed: its queues may still have events. */
  restore(): void;
}

/** Member of a fleet that takes events of its service and passes them on as deliveries. */
export class Consumer implements NotificationListener, EventStarter {
  readonly #parts: ConsumerParts;
  readonly #options: ConsumeOptions;
  readonly #recorder: OutcomeRecorder;
  readonly #deliveries = new Map<number, PostgresDelivery>();
  /** Handlers that run on although their attempt has its outcome. */
  readonly #overdue = new Set<PostgresDelivery>();
  readonly #upkeep: Upkeep;
  readonly #session: ReservedSession;
  readonly #lost: LostEvents;
  readonly #floor = new ClaimFloor();
  #queueOf: ReadonlyMap<string, number> = new Map();
  /** Ids of the queues, the one that was served last at the end. */
  #queues: number[] = [];
  /** Queues that may have events to take. */
  #open = new Set<number>();
  /** Queues with slots of their own, and those with any limit. */
  #slotted = new Set<number>();
  #limited = new Set<number>();
  #member = 0;
  #claiming: Promise<void> | undefined;
  #isClaimWanted = false;
  /** A due time has passed since the last claim. */
  #isDue = false;
  #isClosing = false;
  /** It is a member of its fleet, and renews its locks. */
  #isBeating = false;
  #isRenewing = false;
  /** Messages about runs that arrive while calls are under way that may lease these. */
  readonly #noted = new Set<(() => void)[]>();
  /** Slots of calls that are under way. */
  #reserved = 0;
  readonly #accepting = new Set<Promise<unknown>>();
  #wake: Timer | undefined;
  #wakeAt = Number.POSITIVE_INFINITY;
  #heartbeat: Timer | undefined;
  #removeListener: (() => Promise<void>) | undefined;
  #leaveProcess = (): void => {};

  constructor(parts: ConsumerParts, options: ConsumeOptions) {
    this.#parts = parts;
    this.#options = options;
    const { database, service, logger } = parts;
    this.#upkeep = new Upkeep(database, logger);
    this.#session = new ReservedSession(database);
    this.#recorder = new OutcomeRecorder(
      database,
      service,
      () => this.#member,
      () => parts.runs.registered,
      (ms) => this.#wakeIn(ms),
      (queue) => this.#isClosing || this.#open.size > 0 || this.#limited.has(queue),
      (args, freed) => this.#conclude(args, freed),
    );
    this.#lost = new LostEvents(this.#recorder, logger);
  }

  get member(): number {
    return this.#member;
  }

  /** Number of deliveries without a recorded outcome, of overdue handlers, and of events that may be about to start. */
  get active(): number {
    return this.#running + this.#reserved;
  }

  get #running(): number {
    return this.#deliveries.size + this.#overdue.size;
  }

  /** Number of deliveries whose handlers have returned, and whose outcomes are on their way. */
  get #returned(): number {
    return [...this.#deliveries.values()].filter(({ hasReturned }) => hasReturned).length;
  }

  /** Number of handlers that may start before the outcomes of those that have returned are recorded. */
  get #free(): number {
    const free = this.#concurrency - this.active;
    // Other types wait for the slots.
    if (this.#open.size > 0) return free;
    return free + Math.min(this.#returned, Math.max(this.#concurrency, leastUnrecorded));
  }

  get #concurrency(): number {
    return Math.min(this.#options.concurrency, maxSlots);
  }

  resume(): void {
    this.#claim([]);
  }

  async start(): Promise<void> {
    const { listener, logger } = this.#parts;
    this.#removeListener = await listener.add(this, logger);
    this.#leaveProcess = loneEvents.join(this);
    try {
      await this.#join();
    } catch (error) {
      this.#leaveProcess();
      await this.#removeListener();
      await this.#session.close();
      throw error;
    }
    this.#isBeating = true;
    this.#beat();
    this.#claim();
    // One may follow that was wanted meanwhile.
    while (this.#claiming !== undefined) await this.#claiming;
  }

  /**
   * Makes a call that accepts events, and leases to this process those that may start at once.
   *
   * @param accept makes the call for this member of the fleet. `starts`: 1 for each event that may start, 0 for others; none
   * may if it is empty
   */
  async accept(
    envelopes: readonly Envelope[],
    accept: (member: number, starts: readonly number[]) => Promise<Fields>,
  ): Promise<Fields> {
    const starting = this.#startable(envelopes);
    const order = new Map(starting.map((place, rank) => [place, rank]));
    const starts = order.size === 0 ? [] : envelopes.map((_, place) => Number(order.has(place)));
    this.#reserved += starting.length;
    const accepting = this.#noting(async () => {
      let reply: Fields;
      try {
        reply = await accept(this.#member, starts);
      } finally {
        this.#reserved -= starting.length;
      }
      const leased = readList(reply['leased']);
      if (leased.length > 0) this.#learnFloor(reply);
      const rankOf = (lease: unknown): number => order.get(readNumber(itemOf(lease, 0))) ?? 0;
      const inOrder = leased.toSorted((a, b) => rankOf(a) - rankOf(b));
      this.#take(inOrder.map((lease) => this.#deliveryOf(acceptedEvent(lease, envelopes), [])));
      return reply;
    });
    this.#accepting.add(accepting);
    try {
      return await accepting;
    } finally {
      this.#accepting.delete(accepting);
      // What had to wait for the slots.
      this.#claim([]);
      loneEvents.check();
    }
  }

  /** Returns the places of events that may start when they are accepted, in the order in which they start. */
  #startable(envelopes: readonly Envelope[]): readonly number[] {
    const mayStart = !this.#isClosing && this.#isBeating && this.#claiming === undefined && !loneEvents.isReserved;
    // To look if others have to start before would take long.
    if (!mayStart || this.#floor.until > 0) return [];
    return envelopes
      .map(({ type, service = this.#parts.service, delayMs, priority }, place) => {
        const queue = service === this.#parts.service ? this.#queueOf.get(type) : undefined;
        return { place, priority, isReady: queue !== undefined && !this.#limited.has(queue) && delayMs <= 0 };
      })
      .filter(({ isReady }) => isReady)
      .toSorted((a, b) => b.priority - a.priority)
      .slice(0, Math.max(0, this.#free))
      .map(({ place }) => place);
  }

  onWork(queues: readonly number[], origin?: string): void {
    if (origin === this.#parts.origin) return;
    this.#claim(queues.filter((queue) => this.#queues.includes(queue)));
  }

  onChange(seq: number): void {
    const read = (): void => this.#deliveries.get(seq)?.readNewEntries();
    for (const noted of this.#noted) noted.push(read);
    read();
  }

  onEnd(seq: number, reason: string | undefined): void {
    if (reason === undefined) return;
    const revoke = (): void => this.#deliveries.get(seq)?.revoke(errorOf(readError(JSON.parse(reason))));
    for (const noted of this.#noted) noted.push(revoke);
    revoke();
  }

  onMissed(isOwn: boolean): void {
    this.#claim();
    if (!isOwn && this.#isBeating && !this.#isRenewing) void this.#renew();
  }

  /** Waits for running deliveries and handlers, then releases the rest. */
  async close(drainMs: number): Promise<CloseResult> {
    const { clock } = this.#parts;
    this.#isClosing = true;
    this.#wake?.cancel();
    await Promise.allSettled([this.#claiming, ...this.#accepting]);
    if (drainMs > 0 && this.active > 0) {
      await new Promise<void>((resolve) => {
        const timer = clock.after(drainMs, resolve);
        void this.#idle().then(() => {
          timer.cancel();
          resolve();
        });
      });
    }
    const [interrupted, committing] = [[...this.#deliveries.values()], [...this.#deliveries.values()]].map(
      (all, index) => all.filter(({ isCommitting }) => isCommitting === (index === 1)),
    );
    for (const delivery of interrupted ?? []) delivery.revoke(new ShutdownError());
    this.#recorder.close();
    await Promise.all((committing ?? []).map(({ finished }) => finished));
    const seqs = (interrupted ?? []).map(({ seq }) => seq);
    const overdue = this.#overdue.size;
    this.#isBeating = false;
    this.#heartbeat?.cancel();
    this.#leaveProcess();
    await this.#removeListener?.();
    const released = await this.#leave(seqs);
    await this.#session.close();
    return { released, overdue };
  }

  /** Returns events to the service, and leaves its fleet. Returns the number of these events. */
  async #leave(seqs: readonly number[]): Promise<number> {
    const { logger } = this.#parts;
    try {
      const released = readNumber(await this.#session.call('release_events', [this.#member, seqs, 0]));
      await this.#session.call('leave', [this.#member, 0, formerConnectionMs]);
      return released;
    } catch (error) {
      logger.warn(
        { err: error },
        'could not release events; other processes take them when the lock of this one expires',
      );
      return 0;
    }
  }

  async #idle(): Promise<void> {
    await Promise.all([...this.#deliveries.values()].map(({ finished }) => finished));
    await Promise.all([...this.#overdue].map(({ overdue }) => overdue));
  }

  async #join(): Promise<void> {
    const { database, service } = this.#parts;
    const { subscriptions, declared = [], onRegister } = this.#options;
    await onRegister?.();
    const { lockDurationMs } = database.settings;
    const args = [
      service,
      this.#description,
      this.#state,
      lockDurationMs,
      settingsOf(subscriptions),
      declaredOf(declared),
      formerConnectionMs,
    ];
    const reply = readFields(await this.#session.call('join_member', args));
    const { member, queues } = reply;
    this.#member = readNumber(member);
    this.#queueOf = new Map(Object.entries(readFields(queues)).map(([type, queue]) => [type, readNumber(queue)]));
    this.#queues = [...this.#queueOf.values()];
    this.#learnLimits(reply);
  }

  /** Learns which queues have limits: of the process that joined last, which may have another version. */
  #learnLimits({ slotted, limited }: Fields): void {
    this.#slotted = new Set(readList(slotted).map(readNumber));
    this.#limited = new Set(readList(limited).map(readNumber));
  }

  get #description(): string {
    return this.#options.describe?.() ?? '';
  }

  get #state(): string {
    return this.#options.describeProcess?.(this.#running - this.#returned) ?? '';
  }

  #beat(): void {
    const { clock, database } = this.#parts;
    this.#heartbeat = clock.after(database.settings.lockDurationMs / 3, () => {
      // It takes sessions of the pool, which handlers may hold: no heartbeat waits for it.
      void this.#upkeep.run(clock.monotonic());
      void this.#renew().finally(() => {
        if (this.#isBeating) this.#beat();
      });
    });
  }

  async #renew(): Promise<void> {
    const { database, logger } = this.#parts;
    const { lockDurationMs } = database.settings;
    const known = [...this.#deliveries.values()];
    this.#isRenewing = true;
    try {
      const seqs = known.map(({ seq }) => seq);
      const entries = known.map(({ knownEntries }) => knownEntries);
      const args = [this.#member, this.#description, this.#state, lockDurationMs, formerConnectionMs, seqs, entries];
      const reply = await this.#session.call('heartbeat', args);
      if (!this.#isBeating) return;
      if (reply === null) {
        // The process stood still for longer than its lock: others have its events.
        for (const delivery of known) delivery.revoke(new LeaseLostError());
        await this.#join();
        this.#claim();
      } else {
        const news = readFields(reply);
        this.#learnLimits(news);
        this.#learn(known, news);
      }
    } catch (error) {
      logger.warn({ err: error }, 'could not renew the locks of the process; the next heartbeat repeats it');
    } finally {
      this.#isRenewing = false;
    }
  }

  /** Learns from a heartbeat what notifications may have told before. */
  #learn(known: readonly PostgresDelivery[], { leased, changed, ended, dropped, work, wakeInMs }: Fields): void {
    const tokens = new Set(readList(leased).map(readNumber));
    const reasons = new Map(readList(ended).map((each) => [readNumber(itemOf(each, 0)), itemOf(each, 1)]));
    // Meanwhile one may have its outcome, and another delivery of its event the lease.
    for (const delivery of known) {
      const reason = reasons.get(delivery.token);
      if (reason !== undefined) delivery.revoke(errorOf(readError(reason)));
      else if (!tokens.has(delivery.token)) delivery.revoke(new LeaseLostError());
    }
    for (const seq of readList(changed)) this.onChange(readNumber(seq));
    const ready = readList(work).map(readNumber);
    if (ready.length > 0) this.onWork(ready);
    if (wakeInMs !== null) this.#wakeIn(readNumber(wakeInMs));
    for (const report of readList(dropped).map(readFields)) {
      this.#options.onDropped?.({
        runType: readText(report['runType']),
        runId: readText(report['runId']),
        eventType: readText(report['eventType']),
        dropped: readNumber(report['dropped']),
      });
    }
  }

  /**
   * Takes events of queues, and of those that had more than there was room for. One call at a time: what is wanted
   * meanwhile follows it.
   */
  #claim(queues: readonly number[] = this.#queues): void {
    for (const queue of queues) this.#open.add(queue);
    // The reply of the claim under way may open queues.
    if (this.#claiming === undefined ? !this.#mayClaim : this.#isClosing || loneEvents.isReserved) return;
    this.#isClaimWanted = true;
    if (this.#claiming === undefined) this.#follow(this.#claimNow());
  }

  /** @param claiming resolves with true if handlers have started */
  #follow(claiming: Promise<boolean>): void {
    this.#claiming = claiming.then((hasStarted) => {
      this.#claiming = undefined;
      // Wanted since the last look at it.
      if (!this.#isClaimWanted) return;
      // Of handlers that return at once, the outcomes are on their way in the next turn, in a call that claims for all free
      // slots. A claim before it would take some of them, and so would each one after it.
      if (hasStarted) setImmediate(() => setImmediate(() => this.#claim([])));
      else this.#claim([]);
    });
  }

  get #mayClaim(): boolean {
    if (this.#isClosing || loneEvents.isReserved || this.#open.size === 0) return false;
    return this.#isDue || this.#hasRoom(0) || [...this.#open].some((queue) => this.#slotted.has(queue));
  }

  /** Returns true if there is a slot for queues without slots of their own. @param freed slots that are about to be free */
  #hasRoom(freed: number): boolean {
    if (this.active - freed < this.#concurrency) return true;
    if (this.#slotted.size === 0) return false;
    const running = [...this.#deliveries.values(), ...this.#overdue].filter(({ queue }) => !this.#slotted.has(queue));
    return running.length + this.#reserved - freed < this.#concurrency;
  }

  async #claimNow(): Promise<boolean> {
    const { logger, database } = this.#parts;
    this.#isClaimWanted = false;
    this.#isDue = false;
    const { args, take, restore } = this.#nextClaim(this.#open, new Set());
    try {
      return await this.#noting(async () => take(await this.#session.call('claim', args)));
    } catch (error) {
      restore();
      logger.warn({ err: error }, 'could not take events; the transport repeats it');
      this.#wakeIn(database.settings.pollIntervalMs);
      return false;
    }
  }

  /**
   * Records outcomes, and takes events for the slots that they free in the same call.
   *
   * @param freed tokens of the deliveries whose handlers have returned
   */
  async #conclude(args: readonly Argument[], freed: ReadonlySet<number>): Promise<unknown> {
    // What holds the row of a queue with limits must not wait for an outcome.
    const open = new Set([...this.#open].filter((queue) => !this.#limited.has(queue)));
    // Those with keys would not have their turn.
    const hasKeys = [...this.#open].some((queue) => this.#limited.has(queue) && !this.#slotted.has(queue));
    const mayClaim = !this.#isClosing && !loneEvents.isReserved && this.#claiming === undefined && !hasKeys;
    const record = (): Promise<unknown> => this.#recorder.persist('conclude', args);
    if (!mayClaim || open.size === 0 || this.#floor.until > 0 || !this.#hasRoom(freed.size)) return record();
    const claim = this.#nextClaim(open, freed);
    let hasStarted = false;
    // Not repeated: each repetition would claim more.
    const concluding = this.#noting(async () => {
      const reply = readFields(await this.#parts.database.call('conclude_and_claim', [...args, ...claim.args]));
      if (reply['claimed'] === null) claim.restore();
      else hasStarted = claim.take(reply['claimed']);
      return reply['results'];
    });
    this.#follow(concluding.catch(claim.restore).then(() => hasStarted));
    return concluding.catch(record);
  }

  /** Makes a call. Messages about runs that it leases may arrive before its reply: they are repeated after it. */
  async #noting<T>(call: () => Promise<T>): Promise<T> {
    const noted: (() => void)[] = [];
    this.#noted.add(noted);
    try {
      return await call();
    } finally {
      this.#noted.delete(noted);
      for (const repeat of noted) repeat();
    }
  }

  /** Begins a claim. @param freed tokens of deliveries whose slots are free when the call takes effect */
  #nextClaim(wanted: ReadonlySet<number>, freed: ReadonlySet<number>): NextClaim {
    const { clock } = this.#parts;
    const running = new Map<number, number>();
    const remaining = [...this.#deliveries.values()].filter(({ token }) => !freed.has(token));
    for (const { queue } of [...remaining, ...this.#overdue]) running.set(queue, (running.get(queue) ?? 0) + 1);
    const { position, queues } = this.#floor.next(this.#queues, wanted, clock.monotonic());
    for (const queue of queues) this.#open.delete(queue);
    const concurrency = this.#concurrency - this.#reserved;
    return {
      args: [this.#member, concurrency, queues, [...running.keys()], [...running.values()], position],
      take: (reply) => {
        if (reply === null) return false;
        const fields = readFields(reply);
        const { deliveries, wakeInMs, rest } = fields;
        if (wakeInMs !== null) this.#wakeIn(readNumber(wakeInMs));
        if (position > 0) this.#wakeIn(this.#floor.until - clock.monotonic());
        else this.#learnFloor(fields);
        for (const queue of readList(rest)) this.#open.add(readNumber(queue));
        const taken = readList(deliveries).map((each) =>
          this.#deliveryOf(new StoredEvent(each), readOffers(readFields(each)['offers'] ?? [])),
        );
        this.#take(taken);
        return taken.length > 0;
      },
      restore: () => {
        for (const queue of queues) this.#open.add(queue);
      },
    };
  }

  #learnFloor({ floor, tookMs }: Fields): void {
    this.#floor.learn(readOptional(floor, readNumber), readNumber(tookMs), this.#parts.clock.monotonic());
  }

  #deliveryOf(event: LeasedEvent, offers: readonly Offer[]): PostgresDelivery {
    return new PostgresDelivery(event, offers, this.#recorder, this.#parts.database.settings.maxCrashes);
  }

  /** Starts leased events. */
  #take(leased: readonly PostgresDelivery[]): void {
    const served = new Set(leased.map(({ queue }) => queue));
    this.#queues = [...this.#queues.filter((queue) => !served.has(queue)), ...served];
    for (const delivery of leased) this.#hold(delivery);
    for (const delivery of leased) this.#start(delivery);
  }

  #hold(delivery: PostgresDelivery): void {
    this.#deliveries.set(delivery.seq, delivery);
    void delivery.finished.then(() => {
      if (this.#deliveries.get(delivery.seq) === delivery) this.#deliveries.delete(delivery.seq);
      this.#keepSlot(delivery);
      this.#claim(delivery.mayBeReady ? [delivery.queue] : []);
      loneEvents.check();
    });
  }

  #start(delivery: PostgresDelivery): void {
    const deliver = (): void => this.#options.onDelivery(delivery);
    if (delivery.crashes === 0 || delivery.refusal !== undefined) deliver();
    else {
      this.#lost.redeliver(delivery, deliver).catch((error: unknown) => {
        this.#parts.logger.warn({ err: error }, 'could not release an event that has to run alone');
      });
    }
  }

  #keepSlot(delivery: PostgresDelivery): void {
    const { overdue = Promise.resolve(), holdsSlot, token } = delivery;
    if (delivery.overdue === undefined && !holdsSlot) return;
    if (delivery.overdue !== undefined) this.#overdue.add(delivery);
    const { logger } = this.#parts;
    void overdue
      .then(async () => {
        if (holdsSlot && !this.#isClosing) await this.#recorder.persist('free_slot', [token]);
      })
      .catch((error: unknown) => {
        logger.warn(
          { err: error },
          'could not free the slot of an overdue handler; it is freed when this process ends',
        );
      })
      .finally(() => {
        this.#overdue.delete(delivery);
        this.#claim([]);
        loneEvents.check();
      });
  }

  #wakeIn(ms: number): void {
    const { clock } = this.#parts;
    const at = clock.monotonic() + ms;
    if (this.#isClosing || at >= this.#wakeAt) return;
    this.#wake?.cancel();
    this.#wakeAt = at;
    this.#wake = clock.after(ms + 1, () => {
      this.#wakeAt = Number.POSITIVE_INFINITY;
      // Due times resolve waits, whether there is room or not.
      this.#isDue = true;
      this.#claim();
    });
  }
}

function settingsOf(subscriptions: readonly Subscription[]): string {
  return JSON.stringify(subscriptions.map(({ type, ...settings }) => ({ type, settings })));
}

function declaredOf(declared: readonly DeclaredEvent[]): string {
  return JSON.stringify(declared);
}
