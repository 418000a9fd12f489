import { keepAttempt } from '../../attempt-record.js';
import { errorOf } from '../../errors.js';
import type { Envelope, FailedOutcome, Outcome, RunWait, Subscription } from '../../transport.js';
import type { RememberedId } from '../records/dedupe-window.js';
import type { Entry, StoredWait, WaitOwner } from '../records/entry.js';
import { failedAttempt } from '../records/event-log.js';
import type { Journal } from '../records/journal.js';
import { retainedWaits } from '../records/run-waits.js';
import type { TurnBudget } from '../turn-budget.js';
import type { TypeQueue } from '../type-queue/type-queue.js';
import { Dispatcher } from './dispatcher.js';
import { type AcceptanceHost, EventAcceptance } from './event-acceptance.js';
import { GroupMembers } from './group-members.js';
import { GroupQueues, type GroupQueuesHost } from './group-queues.js';
import type { MemoryDelivery, OutcomeSink } from './memory-delivery.js';

/** The part of the broker that a consumer group uses. */
export interface GroupHost extends GroupQueuesHost, AcceptanceHost {
  readonly turns: TurnBudget;
  /** Counts one event as no longer pending and accepts its follow-ups. */
  recordEnd(entry: Entry, followUps: readonly Envelope[], from: ConsumerGroup): void;
  /** Accepts the events that a step emitted. */
  acceptEmits(envelopes: readonly Envelope[], from: ConsumerGroup): void;
  /** Accepts a child run for the group alone. */
  acceptChild(envelope: Envelope, group: ConsumerGroup): void;
  /** Sets the trigger of a subscription in place of the former one of its type. */
  setTrigger(group: ConsumerGroup, subscription: Subscription): void;
}

const noWaits: readonly StoredWait[] = [];

/** All hubs of one service: accepts events for them and records the outcomes. */
export class ConsumerGroup implements OutcomeSink, WaitOwner {
  readonly service: string;
  readonly journal: Journal;
  readonly turns: TurnBudget;
  readonly #host: GroupHost;
  readonly #dispatcher: Dispatcher;
  readonly queues: GroupQueues;
  readonly members: GroupMembers;
  readonly #acceptance: EventAcceptance;

  constructor(service: string, host: GroupHost) {
    this.service = service;
    this.journal = host.journal;
    this.turns = host.turns;
    this.#host = host;
    this.#dispatcher = new Dispatcher(host.clock, this);
    this.queues = new GroupQueues(service, host, this.#dispatcher);
    this.members = new GroupMembers(host, this.queues, this.#dispatcher, (each) => host.setTrigger(this, each));
    this.#acceptance = new EventAcceptance(host, this.queues, this.#dispatcher);
  }

  /** Accepts an event, or debounces it. Returns the id of the event that waits in the debounce window. */
  accept(envelope: Envelope, bytes: number, now: number, remembered?: RememberedId): string | undefined {
    return this.#acceptance.accept(envelope, bytes, now, remembered);
  }

  /** Returns `true` if `accept` would debounce the event, so that it needs no room. */
  debounces(envelope: Envelope): boolean {
    return this.#acceptance.debounces(envelope);
  }

  findDeadLetter(id: string): Entry | undefined {
    return this.queues.findByDeadLetter(id)?.deadLetters.find(id);
  }

  /** Accepts the event of a dead letter again, without the delay that it had when it was new. */
  replay(id: string, now: number): void {
    this.#acceptance.replay(id, now);
  }

  record(delivery: MemoryDelivery, outcome: Outcome, handlerEnd: Promise<void> | undefined): void {
    const { queue, entry } = delivery;
    delivery.release();
    if (handlerEnd !== undefined) this.#keepSlot(delivery, handlerEnd);
    const now = this.#host.clock.now();
    if (outcome.status === 'failed' && outcome.cancelled !== true) queue.deadLetters.add(entry, outcome, now);
    this.#conclude(queue, entry, outcome, now);
    if (outcome.status !== 'released') this.journal.crashes?.advanced(entry);
  }

  emit(envelopes: readonly Envelope[]): void {
    this.#host.acceptEmits(envelopes, this);
  }

  wait({ queue, entry }: MemoryDelivery, waits: readonly RunWait[]): void {
    for (const wait of waits) {
      const stored = this.#host.waits.add(wait, this, entry);
      if (stored === undefined) continue;
      if (wait.isRetry === true) queue.stats.countRetried(this.#host.clock.now());
      if (wait.delayMs !== undefined) {
        const dueAt = this.#host.clock.monotonic() + wait.delayMs;
        stored.timer = queue.addTimer(stored, dueAt);
        this.#dispatcher.serveAt(queue, dueAt);
      }
      if (wait.run !== undefined) this.#host.acceptChild(wait.run, this);
    }
    queue.stats.markChanged();
    this.journal.afterStored(() => queue.runs?.changed(entry.envelope.id));
  }

  recorded(entry: Entry, key: string, value: string): void {
    const queue = this.queues.of(entry.envelope.type);
    queue.stats.markChanged();
    if (entry.lease !== undefined) {
      entry.lease.recorded(key, value);
      return;
    }
    this.journal.afterStored(() => queue.runs?.changed(entry.envelope.id));
    if (entry.isSuspended) this.#resume(queue, entry);
  }

  cancelTimer({ entry, timer }: StoredWait): void {
    if (timer !== undefined) this.queues.of(entry.envelope.type).removeTimer(timer);
  }

  approvals({ entry }: StoredWait): Set<StoredWait> | undefined {
    return this.queues.of(entry.envelope.type).runs?.approvals;
  }

  /** Ends a waiting, suspended or running event of the type, and its child runs, without a dead letter. */
  endRun(type: string, entry: Entry, outcome: Outcome, reason: Error): void {
    const queue = this.queues.of(type);
    const { lease } = entry;
    if (lease !== undefined) {
      lease.release();
      lease.revoke(reason);
    } else if (entry.isSuspended) {
      entry.isSuspended = false;
      queue.stats.countSuspended(-1);
    } else {
      queue.remove(entry, this.#host.clock.monotonic());
    }
    const waits = this.#host.waits.drop(entry);
    this.#conclude(queue, entry, outcome, this.#host.clock.now(), waits);
    this.journal.crashes?.advanced(entry);
    if (outcome.status === 'failed') for (const wait of waits) this.#endChild(wait, outcome, reason);
  }

  #endChild({ wait }: StoredWait, { error }: FailedOutcome, reason: Error): void {
    if (wait.run === undefined) return;
    const { type, id } = wait.run;
    const entry = this.queues.find(type)?.runs?.entry(id);
    if (entry === undefined || entry.ended) return;
    this.endRun(
      type,
      entry,
      { status: 'failed', cancelled: true, durationMs: 0, error, followUps: wait.onCancel ?? [] },
      reason,
    );
  }

  #resume(queue: TypeQueue, entry: Entry): void {
    entry.isSuspended = false;
    this.journal.entry(queue, entry);
    queue.stats.countSuspended(-1);
    this.queues.push(queue, entry);
  }

  #suspend(queue: TypeQueue, entry: Entry, seen: number): void {
    if ((entry.checkpoints?.size ?? 0) > seen) {
      this.queues.push(queue, entry);
      return;
    }
    entry.isSuspended = true;
    this.journal.entry(queue, entry);
    queue.stats.countSuspended(1);
  }

  /** Returns an event that {@link cancel} would end. */
  findCancellable(id: string): Entry | undefined {
    const entry = this.queues.findPending(id);
    return entry === undefined || entry.lease !== undefined || entry.isSuspended ? undefined : entry;
  }

  /** Ends an event that waits; `false` if no event with this id does. */
  cancel(id: string, conclude: (envelope: Envelope) => FailedOutcome): boolean {
    const found = this.findCancellable(id);
    const entry = found?.record?.isSpilled === true ? this.queues.of(found.envelope.type).takeSpilled(id) : found;
    if (entry === undefined) return false;
    const outcome = conclude(entry.envelope);
    this.endRun(entry.envelope.type, entry, outcome, errorOf(outcome.error));
    return true;
  }

  /** @param dropped waits of a run that were dropped before its end */
  #conclude(
    queue: TypeQueue,
    entry: Entry,
    outcome: Outcome,
    now: number,
    dropped: readonly StoredWait[] = noWaits,
  ): void {
    const { envelope, attempt } = entry;
    const { stats } = queue;
    if (outcome.status === 'suspended') {
      this.#suspend(queue, entry, outcome.seen);
      this.#dispatcher.serve(queue);
      return;
    }
    if (outcome.status === 'released') {
      this.queues.pushDelayed(queue, entry, outcome.delayMs);
      this.#dispatcher.serve(queue);
      return;
    }
    const isCancelled = outcome.status === 'failed' && outcome.cancelled === true;
    if (!isCancelled) stats.countDuration(outcome.durationMs, now);
    if (outcome.status === 'retry') {
      if (!queue.isRun(entry)) entry.attempts = keepAttempt(entry.attempts, failedAttempt(entry, outcome, now));
      entry.attempt += 1;
      stats.countRetried(now);
      this.queues.pushDelayed(queue, entry, outcome.delayMs);
    } else {
      entry.ended = true;
      this.journal.entry(queue, entry);
      queue.forget(entry);
      this.queues.index.remove(entry);
      this.#host.recent.remove(entry);
      queue.releaseKey(entry, this.#host.clock);
      if (isCancelled) stats.countCancelled(now);
      else if (outcome.status === 'completed') stats.countCompleted(now);
      else stats.countFailed(now, envelope, attempt, outcome);
      const open = this.#host.waits.drop(entry);
      if (queue.runs !== undefined && queue.isRun(entry)) {
        this.journal.afterStored(
          queue.runs.end(envelope.id, outcome, retainedWaits(dropped === noWaits ? open : dropped), now),
        );
      } else {
        queue.log.add(entry, outcome, now);
        this.journal.log(queue);
      }
      this.#host.recordEnd(entry, outcome.followUps, this);
      this.#resolveParent(envelope, outcome);
    }
    this.#dispatcher.serve(queue);
  }

  #resolveParent({ id, parent }: Envelope, outcome: Extract<Outcome, { status: 'completed' | 'failed' }>): void {
    if (parent === undefined) return;
    const end =
      outcome.status === 'completed'
        ? `"status":"completed","result":${outcome.result ?? 'null'}`
        : `"status":"failed","error":${JSON.stringify(outcome.error)}`;
    const entry = this.queues.find(parent.type)?.runs?.entry(parent.id);
    this.#host.waits.resolveByRun(entry, parent.wait, id, end);
  }

  /** Takes the slots of a delivery with an outcome until its handler returns. */
  #keepSlot(delivery: MemoryDelivery, handlerEnd: Promise<void>): void {
    const { queue, entry } = delivery;
    delivery.addOverdue();
    const freeSlot = queue.holdSlot(entry);
    void handlerEnd.then(() => {
      delivery.removeOverdue();
      freeSlot(this.#host.clock.monotonic());
      this.#dispatcher.serve(queue);
    });
  }
}
