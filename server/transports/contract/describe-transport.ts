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
import { describeOverdueHandlers } from './overdue-handlers.js';
import { describeRuns } from './runs.js';
import { describeSchedules } from './schedules.js';
import { describeStatistics } from './statistics.js';
import { describeSubscribers } from './subscribers.js';
import { describeSuspensions } from './suspensions.js';
import { describeWorkerQueues } from './worker-queues.js';

/** Returns `true` if the transport records waits and emits of runs. */
export function suspendsRuns(name: string): boolean {
  return !name.startsWith('redis');
}

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
    if (suspendsRuns(name)) describeSuspensions(stage);
    describeStatistics(stage);
    describeKeyValues(stage);
    describeDelays(stage);
    describeFailureContext(stage);
    describeFleets(stage);
    describeOverdueHandlers(stage);
    describeSubscribers(stage);
    // The redis transport has neither keys nor schedules yet.
    if (name.startsWith('redis')) return;
    describeKeys(stage);
    describeCancel(stage);
    describeSchedules(stage);
  });
}
