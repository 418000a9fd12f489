import { quote } from '../../errors.js';
import type { Offer, Verdict } from '../../transports/delivery.js';
import { WorkflowCancelledError } from '../errors.js';
import { accepts } from '../events/condition.js';
import { createFollowUps } from '../events/follow-ups.js';
import { countOutcome } from '../observability.js';
import type { SteppedRun } from './requested-step.js';
import { parseEntryKey, slotOf, stepKind, writeEntry } from './run-entry.js';
import type { WriterCallbacks } from './run-writer.js';

const taken: Verdict = { status: 'taken' };
const refused: Verdict = { status: 'refused' };

/** Decides about the events that are offered to a run, by the `when` of its waits and of its reasons to cancel. */
export class OfferedEvents {
  readonly #run: SteppedRun;
  readonly #callbacks: WriterCallbacks;
  /** Offers with a verdict, which the delivery may still know. */
  readonly #decided = new Set<string>();
  #deciding = 0;
  #cancelling: Promise<boolean> | undefined;

  constructor(run: SteppedRun, callbacks: WriterCallbacks) {
    this.#run = run;
    this.#callbacks = callbacks;
  }

  /** A verdict is being recorded. */
  get isDeciding(): boolean {
    return this.#deciding > 0;
  }

  /**
   * Decides about the reasons to cancel. Returns a promise that never rejects, and resolves when all verdicts are
   * recorded, also on the offers that follow them: with `true` if one of them ended the run. Returns `undefined` if
   * there are no offers.
   */
  decideCancel(): Promise<boolean> | undefined {
    if (this.#cancelling !== undefined) return this.#cancelling;
    const offers = this.#reasons();
    if (offers.length > 0) this.#cancelling = this.#decideReasons(offers);
    return this.#cancelling;
  }

  async #decideReasons(first: readonly Offer[]): Promise<boolean> {
    for (let offers = first; offers.length > 0; offers = this.#reasons()) {
      const reason = offers.find((offer) => this.#isCancelledBy(offer));
      if (reason !== undefined) {
        await this.#watch(() => this.#cancel(reason));
        return true;
      }
      await Promise.all(offers.map((offer) => this.#record(offer, refused)));
    }
    this.#cancelling = undefined;
    return false;
  }

  #reasons(): readonly Offer[] {
    return this.#next(({ wait }) => wait === undefined);
  }

  /**
   * Decides about the events for waits. An event for a wait that the function has not asked for is left, because the
   * function may ask later.
   *
   * @param isIdle the function asks for no further steps: what it has not asked for refuses its events
   */
  decideWaits(isIdle: boolean): void {
    for (const offer of this.#next(({ wait }) => wait !== undefined)) {
      const verdict = this.#judge(offer, isIdle);
      if (verdict === undefined) this.#decided.delete(nameOf(offer));
      else void this.#record(offer, verdict);
    }
  }

  /** Takes the offers without a verdict that match. */
  #next(matches: (offer: Offer) => boolean): readonly Offer[] {
    if (this.#run.isOver) return [];
    const offers = this.#run.delivery.offers.filter((offer) => matches(offer) && !this.#decided.has(nameOf(offer)));
    for (const offer of offers) this.#decided.add(nameOf(offer));
    return offers;
  }

  #record(offer: Offer, verdict: Verdict): Promise<void> {
    return this.#watch(async () => {
      if ((await this.#run.delivery.decide(offer, verdict)) === 'fenced') this.#callbacks.onFenced();
    });
  }

  /** Keeps the run in this process until a verdict is recorded. Never rejects. */
  async #watch(record: () => Promise<void>): Promise<void> {
    this.#deciding += 1;
    try {
      await record();
    } catch (error) {
      this.#callbacks.onError(error);
    } finally {
      this.#deciding -= 1;
      this.#callbacks.onEnd();
    }
  }

  #judge(offer: Offer, isIdle: boolean): Verdict | undefined {
    const { workflow, delivery, host, replay } = this.#run;
    const { role, id } = parseEntryKey(offer.wait ?? '');
    const step = replay.requested(slotOf(stepKind(role), id));
    if (step === undefined) return isIdle ? refused : undefined;
    // Earlier code had a `when`.
    if (!('when' in step) || step.when === undefined) return taken;
    const startedAt = host.transport.clock.now();
    try {
      return accepts(step.when, offer, `step ${quote(id)}`) ? taken : refused;
    } catch (error) {
      const { id: runId, requestId } = delivery.envelope;
      const identity = { requestId, workflow: workflow.name, runId, step: id, attempt: 1 };
      host.logger.warn({ err: error, ...identity }, 'step failed');
      const times = { attempt: 1, startedAt, durationMs: 0 };
      const entry = {
        version: workflow.version,
        delivery: delivery.attempt,
        ...times,
        error: host.redactor.info(error),
      };
      return { status: 'failed', entry: writeEntry(entry) };
    }
  }

  #isCancelledBy(offer: Offer): boolean {
    const { workflow, delivery, host } = this.#run;
    if (!offer.isJudged) return true;
    const { when } = workflow.cancelOn?.find(({ type }) => type === offer.type) ?? {};
    // The run was accepted with a `when` that the code no longer has.
    if (when === undefined) return false;
    try {
      return accepts(when, offer, `cancelOn of workflow ${quote(workflow.name)}`);
    } catch (error) {
      const { id: runId, requestId } = delivery.envelope;
      const identity = { requestId, workflow: workflow.name, runId, eventType: offer.type, eventId: offer.id };
      host.logger.error({ err: error, ...identity }, 'when of cancelOn threw, so the event does not cancel the run');
      return false;
    }
  }

  /** Ends the run, which revokes the delivery, unless it has ended. */
  async #cancel({ type }: Offer): Promise<void> {
    const { workflow, delivery, host } = this.#run;
    const { envelope } = delivery;
    const { runs, service } = host.transport;
    const reason = new WorkflowCancelledError(workflow.name, envelope.id, `the event ${quote(type)}`);
    const error = host.redactor.info(reason);
    const created = createFollowUps(service, workflow.followUps, envelope, { status: 'failed', error });
    const followUps = await host.publisher.prepareFollowUps(created);
    const outcome = { status: 'failed', cancelled: true, error, durationMs: 0, followUps } as const;
    const isEnded = (await runs.end(envelope.type, envelope.id, outcome, reason, service)) === 'ok';
    if (isEnded) countOutcome('failed', envelope.type, service);
  }
}

function nameOf({ kept, wait, type }: Offer): string {
  return `${kept} ${wait ?? `cancel ${type}`}`;
}
