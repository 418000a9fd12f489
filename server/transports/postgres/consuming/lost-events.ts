import { systemClock } from '../../clock.js';
import { loneEvents, loneLimitMs } from '../../lone-events.js';
import type { Logger } from '../../transport.js';
import type { OutcomeRecorder } from './outcome-recorder.js';
import type { PostgresDelivery } from './postgres-delivery.js';

// An event that has to run alone waits for another such event, and for those that have their turn.
const loneDelayMs = 200;

/**
 * Events that a process lost. A process that dies loses all events that it runs, and nothing shows which of them was the
 * cause. On its last chance an event runs alone in its process: only its loss then proves that it is the cause.
 */
export class LostEvents {
  readonly #recorder: OutcomeRecorder;
  readonly #logger: Logger;

  constructor(recorder: OutcomeRecorder, logger: Logger) {
    this.#recorder = recorder;
    this.#logger = logger;
  }

  /** Delivers an event that a process lost, now or later. */
  async redeliver(delivery: PostgresDelivery, deliver: () => void): Promise<void> {
    const { maxCrashes } = this.#recorder.database.settings;
    const { crashes } = delivery;
    if (crashes < maxCrashes - 1) {
      await this.#note(delivery, 'shared');
      if (delivery.isLeased) deliver();
      return;
    }
    let isAlone = false;
    let begin = (): void => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const end = loneEvents.reserve({
      id: delivery.envelope.id,
      clock: systemClock,
      limitMs: loneLimitMs(crashes - maxCrashes + 1),
      begin(isOnly) {
        isAlone = isOnly;
        begin();
      },
      recordShared: (recorded) => {
        void this.#note(delivery, 'shared').then(recorded);
      },
    });
    if (end === undefined) {
      await delivery.commit({ status: 'released', durationMs: 0, delayMs: loneDelayMs });
      return;
    }
    void delivery.finished.then(begin);
    await begun;
    await this.#note(delivery, isAlone ? 'alone' : 'shared');
    if (delivery.isLeased) deliver();
    await delivery.finished;
    end();
  }

  /** Notes that the handler starts: a process that dies before is not ended by it. */
  async #note({ seq, token }: PostgresDelivery, place: 'alone' | 'shared'): Promise<void> {
    try {
      await this.#recorder.database.call('note_start', [seq, token, place]);
    } catch (error) {
      this.#logger.warn({ err: error }, 'could not record the start of a handler');
    }
  }
}
