import { type Hub, TransportUnavailableError, UnknownDeadLetterError } from 'hubline';
import { expect } from 'vitest';
import type { LedgerEntry } from '../workers/ledger.js';
import { deployedTypes, keyedDeployed } from './deploy-scenario.js';

const burst = 120;
const cancelledAtOnce = 10;

/** Result of an operation; `undefined` if Redis did not reply in time: it may or may not have had an effect. */
async function attempt<T>(operation: () => Promise<T>): Promise<T | undefined> {
  try {
    return await operation();
  } catch (error) {
    if (!(error instanceof TransportUnavailableError)) throw error;
    return undefined;
  }
}

/** Effects that an operation had for certain, and those that it may have had. */
class Effects {
  readonly known: Set<number> = new Set();
  readonly possible: Set<number> = new Set();

  add(n: number, isKnown: boolean): void {
    (isKnown ? this.known : this.possible).add(n);
  }
}

/** Emits, delays, cancellations and replays of the scenario `deploy`, and what must become of them. */
export class DeployLoad {
  /** Numbers of the emitted events, by type. */
  readonly emitted: ReadonlyMap<string, Effects> = new Map(deployedTypes.map((type) => [type, new Effects()]));
  readonly cancelled: Effects = new Effects();
  replays = 0;
  possibleReplays = 0;
  looks = 0;
  readonly #hub: Hub;
  #last = 0;

  constructor(hub: Hub) {
    this.#hub = hub;
  }

  async burst(): Promise<void> {
    const types = Array.from({ length: burst }, (_, index) => deployedTypes[index % deployedTypes.length] ?? 'a');
    await Promise.all(types.map((type, index) => this.#emit(type, index % 7 === 0 ? Math.random() * 1_000 : 0)));
  }

  /** Cancels events before their delay ends. */
  async cancel(): Promise<void> {
    // Cancelling an event does not cancel the run that it triggers: no version has a trigger of these types.
    const types = Array.from({ length: cancelledAtOnce }, (_, index) => (index % 2 === 0 ? 'broken' : 'keyed'));
    for (const event of await Promise.all(types.map((type) => this.#emit(type, 60_000)))) {
      if (event === undefined) continue;
      const isCancelled = await attempt(() => this.#hub.cancel(event.id));
      expect(isCancelled).not.toBe(false);
      this.cancelled.add(event.n, isCancelled === true);
    }
  }

  /** Replays all dead letters; returns `true` if there was none. */
  async replay(): Promise<boolean> {
    const letters = await attempt(() => this.#hub.deadLetters('broken', { limit: 1_000 }));
    for (const { id } of letters ?? []) {
      const replayed = await attempt(() => this.#hub.replay(id)).catch((error: unknown) => {
        // Redis carried out an earlier replay without a reply.
        if (!(error instanceof UnknownDeadLetterError)) throw error;
        return null;
      });
      if (replayed === undefined) this.possibleReplays += 1;
      else if (replayed !== null) this.replays += 1;
    }
    return letters?.length === 0;
  }

  /** Expects the counts of this instant to be exact. */
  async look(): Promise<void> {
    const found = await attempt(() => this.#hub.introspect());
    if (found === undefined) return;
    this.looks += 1;
    for (const { metrics } of [...found.events, ...found.workflows]) {
      const { received, completed, failed, pending, active, delayed, suspended } = metrics;
      expect(received).toBe(completed + failed + pending);
      expect(pending).toBeGreaterThanOrEqual(active + delayed + suspended);
    }
  }

  /** Waits until nothing is pending and no dead letter is left. */
  async isDone(): Promise<boolean> {
    await this.look();
    const isIdle = (await this.totals()).every(({ pending }) => pending === 0);
    return isIdle && (await this.replay()) && (await this.totals()).every(({ pending }) => pending === 0);
  }

  /** Returns the counts of the emitted types, then of the workflows `deployed` and `patient`. */
  async totals() {
    const types = [...deployedTypes, 'workflow\u001fdeployed', 'workflow\u001fpatient'];
    return (await this.#hub.transport.counts.get(types)).map(({ total }) => total);
  }

  /** Expects that each event has ended once, as the ledger says. */
  async verify(ledger: readonly LedgerEntry[]): Promise<void> {
    const numbers = (what: string): Set<number> =>
      new Set(ledger.filter((entry) => entry.what === what).map(({ key }) => Number(key)));
    const totals = await this.totals();
    for (const [index, type] of deployedTypes.entries()) {
      const { known = new Set<number>(), possible = new Set<number>() } = this.emitted.get(type) ?? {};
      const done = numbers(`end ${type}`);
      const started = numbers(`start ${type}`);
      for (const n of known) {
        const isCancelled = this.cancelled.known.has(n);
        if (!this.cancelled.possible.has(n)) expect(done.has(n), `${type} ${n} has completed`).toBe(!isCancelled);
        if (isCancelled) expect(started.has(n), `${type} ${n} has started`).toBe(false);
      }
      for (const n of done) expect(known.has(n) || possible.has(n), `${type} ${n} was emitted`).toBe(true);
      const { received = 0, completed, failed = 0, cancelled = 0, pending, active, deadLetters } = totals[index] ?? {};
      expect({ completed, pending, active, deadLetters }, type).toEqual({
        completed: done.size,
        pending: 0,
        active: 0,
        deadLetters: 0,
      });
      expect(received).toBe(done.size + failed);
      const cancels = [...known].filter((n) => this.cancelled.known.has(n)).length;
      expect(cancelled).toBeGreaterThanOrEqual(cancels);
      expect(cancelled).toBeLessThanOrEqual(cancels + this.cancelled.possible.size);
      expect(failed - cancelled).toBeGreaterThanOrEqual(type === 'broken' ? this.replays : 0);
      expect(failed - cancelled).toBeLessThanOrEqual(type === 'broken' ? this.replays + this.possibleReplays : 0);
    }
    const [deployed, patient] = totals.slice(deployedTypes.length);
    expect(deployed).toMatchObject({ failed: 0, received: deployed?.completed });
    expect(patient).toMatchObject({ received: totals[0]?.received, completed: totals[0]?.received });
    expect(numbers('end patient').size).toBe(patient?.completed);
  }

  async #emit(type: string, delayMs: number): Promise<{ readonly id: string; readonly n: number } | undefined> {
    this.#last += 1;
    const n = this.#last;
    const receipt = await attempt(() =>
      type === keyedDeployed.type
        ? this.#hub.emit(keyedDeployed, { n }, { delayMs })
        : this.#hub.emit(type, { n }, { delayMs }),
    );
    this.emitted.get(type)?.add(n, receipt !== undefined);
    return receipt && { id: receipt.id, n };
  }
}
