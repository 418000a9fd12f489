import { describe } from 'vitest';
import { describeCancel } from './cancel.js';
import { describeConnections } from './connections.js';
import { type ContractHarness, contractStage } from './contract-stage.js';
import { describeDeadLetters } from './dead-letters.js';
import { describeDelays } from './delays.js';
import { describeDeploys } from './deploys.js';
import { describeEvents } from './events.js';
import { describeFailureContext } from './failure-context.js';
import { describeFairness } from './fairness.js';
import { describeFleets } from './fleets.js';
import { describeKeyValues } from './key-values.js';
import { describeKeys } from './keys.js';
import { describeLookups } from './lookups.js';
import { describeOverdueHandlers } from './overdue-handlers.js';
import { describeRuns } from './runs.js';
import { describeSchedules } from './schedules.js';
import { describeStatistics } from './statistics.js';
import { describeSubscribers } from './subscribers.js';
import { describeSuspensions } from './suspensions.js';
import { describeWorkerQueues } from './worker-queues.js';

/** Registers the tests that every transport must pass. */
export function describeTransport(name: string, setup: () => Promise<ContractHarness>): void {
  describe(`${name} transport`, () => {
    const stage = contractStage(setup);
    describeEvents(stage);
    describeWorkerQueues(stage);
    describeConnections(stage);
    describeDeploys(stage);
    describeFairness(stage);
    describeRuns(stage);
    describeDeadLetters(stage);
    describeSuspensions(stage);
    describeStatistics(stage);
    describeKeyValues(stage);
    describeDelays(stage);
    describeFailureContext(stage);
    describeFleets(stage);
    describeOverdueHandlers(stage);
    describeSubscribers(stage);
    describeKeys(stage);
    describeSchedules(stage);
    describeCancel(stage);
    describeLookups(stage);
  });
}
