import { ShutdownError } from '../../errors.js';
import type { CloseResult, ConsumeOptions, Subscription } from '../../transport.js';
import type { Entry } from '../records/entry.js';
import { noteInterruption } from '../records/event-log.js';
import type { QueueHost } from '../type-queue/type-queue.js';
import type { Dispatcher } from './dispatcher.js';
import { GroupConsumer } from './group-consumer.js';
import type { GroupQueues } from './group-queues.js';

/** The part of the broker that the consumers of a group use. */
export type MembersHost = Pick<QueueHost, 'clock' | 'journal'>;

/** Consumers of one service: opens, drains and removes them, and puts their subscriptions in effect. */
export class GroupMembers {
  readonly #host: MembersHost;
  readonly #queues: GroupQueues;
  readonly #dispatcher: Dispatcher;
  readonly #setTrigger: (subscription: Subscription) => void;

  /** @param setTrigger sets the trigger of a subscription in place of the former one of its type */
  constructor(
    host: MembersHost,
    queues: GroupQueues,
    dispatcher: Dispatcher,
    setTrigger: (subscription: Subscription) => void,
  ) {
    this.#host = host;
    this.#queues = queues;
    this.#dispatcher = dispatcher;
    this.#setTrigger = setTrigger;
  }

  open(options: ConsumeOptions): GroupConsumer {
    const consumer = new GroupConsumer(options);
    this.#dispatcher.add(consumer);
    for (const subscription of options.subscriptions) this.apply(subscription);
    this.#dispatcher.serveAll(this.#queues.all());
    return consumer;
  }

  /** A consumer handles the type. */
  handles(type: string): boolean {
    return this.#dispatcher.handles(type);
  }

  /** Makes a subscription's settings those of its type, for the backlog too. */
  apply(subscription: Subscription): void {
    const { type } = subscription;
    const running = (): Entry[] => this.#dispatcher.running().filter(({ envelope }) => envelope.type === type);
    this.#queues.of(type).subscribe(subscription, running);
    this.#setTrigger(subscription);
  }

  /** Drains and removes the consumer. */
  close(consumer: GroupConsumer, drainMs: number): Promise<CloseResult> {
    const { clock, journal } = this.#host;
    const deadline = clock.monotonic() + drainMs;
    // After the outcomes that are about to be stored; while the storage fails, those are left to the next process.
    const remove = async (): Promise<CloseResult> =>
      journal.isStored ? journal.settle(() => this.#remove(consumer)) : this.#remove(consumer);
    if (drainMs === 0 || this.#isDrained(consumer, deadline)) return remove();
    return new Promise((resolve) => {
      const finish = (): void => {
        consumer.onRound = () => {};
        timer.cancel();
        resolve(remove());
      };
      const timer = clock.after(drainMs, finish);
      consumer.onRound = () => {
        if (this.#isDrained(consumer, deadline)) finish();
      };
    });
  }

  #isDrained(consumer: GroupConsumer, deadline: number): boolean {
    if (consumer.isRunning) return false;
    return [...this.#queues.all()].every((queue) => {
      const { type, hasWaiting, nextDueAt } = queue;
      if (!consumer.handles.has(type) || this.#dispatcher.isHandledByOthers(consumer, type)) return true;
      return !hasWaiting && (nextDueAt === undefined || nextDueAt > deadline);
    });
  }

  #remove(consumer: GroupConsumer): CloseResult {
    this.#dispatcher.remove(consumer);
    for (const type of consumer.handles.keys()) {
      // The settings of the last consumer that handled a type stay in effect.
      const subscription = this.#dispatcher.latestSubscription(type);
      if (subscription !== undefined && subscription !== this.#queues.of(type).subscription) this.apply(subscription);
    }
    this.#dispatcher.serveAll(this.#queues.all());
    // Last started first, each to the front, restores the order of the queue.
    const { clock, journal } = this.#host;
    const running = consumer.running().reverse();
    for (const delivery of running) {
      delivery.release();
      noteInterruption(delivery.entry, clock.now());
      journal.entry(delivery.queue, delivery.entry);
      delivery.queue.unshift(delivery.entry);
      this.#dispatcher.serve(delivery.queue);
    }
    for (const delivery of running) delivery.revoke(new ShutdownError());
    return { released: running.length, overdue: consumer.overdue };
  }
}
