import { describe } from 'vitest';
import { describeCancel } from './cancel.js';
import { describeConnections } from './connections.js';
import { type ContractHarness, contractStage } from './contract-stage.js';
import { describeDeadLetters } from './dead-letters.js';
import { describeEvents } from './events.js';
import { describeKeyValues } from './key-values.js';
import { describeKeys } from './keys.js';
import { describeRuns } from './runs.js';
import { describeSchedules } from './schedules.js';
import { describeStatistics } from './statistics.js';
import { describeSuspensions } from './suspensions.js';
import { describeWorkerQueues } from './worker-queues.js';

/** Returns `true` if the transport records waits and emits of runs. */
export function suspendsRuns(name: string): boolean {
  return name !== 'redis';
}

/** Registers the tests that every transport must pass. */
export function describeTransport(name: string, setup: () => Promise<ContractHarness>): void {
  describe(`${name} transport`, () => {
    const stage = contractStage(setup);
    describeEvents(stage);
    describeWorkerQueues(stage);
    describeConnections(stage);
    describeRuns(stage);
    describeDeadLetters(stage);
    if (suspendsRuns(name)) describeSuspensions(stage);
    describeStatistics(stage);
    describeKeyValues(stage);
    // The redis transport has neither keys nor schedules yet.
    if (name === 'redis') return;
    describeKeys(stage);
    describeCancel(stage);
    describeSchedules(stage);
  });
}
