import { describe } from 'vitest';
import type { Codec } from '../codec.js';
import { type ContractHarness, type ContractOptions, type ContractStage, contractStage } from './contract-stage.js';
import { describeCancel } from './events/cancel.js';
import { describeConditions } from './events/conditions.js';
import { describeDebounce } from './events/debounce.js';
import { describeDelays } from './events/delays.js';
import { describeEvents } from './events/events.js';
import { describeFairness } from './events/fairness.js';
import { describeKeys } from './events/keys.js';
import { describeOverdueHandlers } from './events/overdue-handlers.js';
import { describeOverlaps } from './events/overlaps.js';
import { describePauses } from './events/pauses.js';
import { describeRates } from './events/rates.js';
import { describeSubscribers } from './events/subscribers.js';
import { describeWorkerQueues } from './events/worker-queues.js';
import { describeConnections } from './processes/connections.js';
import { describeDeploys } from './processes/deploys.js';
import { describeFleets } from './processes/fleets.js';
import { describeStoppedServices } from './processes/stopped-services.js';
import { describeBoundedLog } from './records/bounded-log.js';
import { describeDeadLetters } from './records/dead-letters.js';
import { describeErasure } from './records/erasure.js';
import { describeFailureContext } from './records/failure-context.js';
import { describeKeyValues } from './records/key-values.js';
import { describeLookups } from './records/lookups.js';
import { describeStatistics } from './records/statistics.js';
import { describeChildRuns } from './runs/child-runs.js';
import { describeForks } from './runs/forks.js';
import { describeInboxes } from './runs/inboxes.js';
import { describeOffers } from './runs/offers.js';
import { describeRunRecords } from './runs/run-records.js';
import { describeRuns } from './runs/runs.js';
import { describeRunsOfServices } from './runs/runs-of-services.js';
import { describeSchedules } from './runs/schedules.js';
import { describeSuspendedRecords } from './runs/suspended-records.js';
import { describeSuspensions } from './runs/suspensions.js';
import { describeVersions } from './runs/versions.js';
import { describeWaitingRuns } from './runs/waiting-runs.js';

/** Registers the tests that every transport must pass. */
export function describeTransport(
  name: string,
  setup: () => Promise<ContractHarness>,
  options?: ContractOptions,
): void {
  describe(`${name} transport`, () => {
    const stage = contractStage(setup);
    describePending(stage);
    describeConnections(stage);
    describeStoppedServices(stage);
    describeRuns(stage);
    describeSuspensions(stage);
    describeChildRuns(stage);
    describeRunRecords(stage);
    describeRunsOfServices(stage);
    describeInboxes(stage, options);
    describeForks(stage);
    describeOffers(stage);
    describeWaitingRuns(stage);
    describeSuspendedRecords(stage);
    describeVersions(stage);
    describeStatistics(stage);
    describeKeyValues(stage);
    describeBoundedLog(stage);
    describeFailureContext(stage);
    describeSchedules(stage);
  });
}

/** Registers the tests that depend on the place of pending events. */
export function describePendingEvents(name: string, setup: () => Promise<ContractHarness>): void {
  describe(`${name} transport`, () => describePending(contractStage(setup)));
}

/** Codec of the tests that stored text is encoded. */
export const contractCodec: Codec = {
  encode: (text) => `>${Buffer.from(text).toString('base64')}`,
  decode: (text) => {
    if (!text.startsWith('>')) throw new Error('not encoded');
    return Buffer.from(text.slice(1), 'base64').toString();
  },
};

/** Registers the tests of what a transport with {@link contractCodec} encodes and hashes. */
export function describeCodedTransport(name: string, setup: () => Promise<ContractHarness>): void {
  describe(`${name} transport with a codec`, () => {
    const stage = contractStage(setup);
    describeEvents(stage);
    describeDeadLetters(stage);
    describeKeys(stage);
    describeDebounce(stage);
    describeCancel(stage);
    describeConditions(stage);
    describeLookups(stage);
    describeErasure(stage);
    describeSuspensions(stage);
    describeOffers(stage);
    describeChildRuns(stage);
    describeForks(stage);
    describeWaitingRuns(stage);
    describeSuspendedRecords(stage);
    describeKeyValues(stage);
    describeBoundedLog(stage);
    describeSchedules(stage);
  });
}

function describePending(stage: ContractStage): void {
  describeEvents(stage);
  describeWorkerQueues(stage);
  describeRates(stage);
  describeDeploys(stage);
  describeFairness(stage);
  describeDeadLetters(stage);
  describeDelays(stage);
  describeFleets(stage);
  describeOverdueHandlers(stage);
  describeSubscribers(stage);
  describeKeys(stage);
  describeDebounce(stage);
  describeCancel(stage);
  describeConditions(stage);
  describeOverlaps(stage);
  describePauses(stage);
  describeLookups(stage);
  describeErasure(stage);
}
