import { expect } from 'vitest';
import type { Delivery, Envelope, Subscription } from '../../delivery.js';
import type { OpenWait, RunStatus } from '../../event-record.js';
import type { Consumption, ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';

/** Subscription to a type whose deliveries are runs. */
export const runs: Subscription = { type: 'run', retainsRuns: true };

/** Returns an entry that the transport recorded, without its times. */
export function resolution(delivery: Pick<Delivery, 'checkpoints'>, key: string): unknown {
  const json = delivery.checkpoints.get(key);
  if (json === undefined) throw new Error(`no entry ${key} is recorded`);
  const { since, at, ...fields } = JSON.parse(json) as { since: number; at: number };
  expect(at).toBeGreaterThanOrEqual(since);
  return fields;
}

/** Functions that the tests of runs share. */
export interface RunStage {
  /** Publishes a run, and returns its first delivery. */
  startRun(shop: Consumption, fields?: Partial<Envelope>): Promise<Delivery>;
  /** Returns the status of a run and its open waits. */
  state(shop: Consumption, delivery: Delivery): Promise<[RunStatus, OpenWait[]]>;
}

/** Creates the functions that the tests of runs share. */
export function createRunStage({ next }: ContractStage): RunStage {
  return {
    async startRun(shop, fields = {}) {
      await shop.transport.publish([envelope('run', fields)]);
      return next(shop);
    },
    async state(shop, { envelope: { type, id } }) {
      const record = await shop.transport.runs.get(type, id);
      if (record === undefined) throw new Error(`run ${id} is unknown`);
      return [record.status, [...record.waits]];
    },
  };
}
