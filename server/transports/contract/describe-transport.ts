import { describe } from 'vitest';
import { describeConnections } from './connections.js';
import { type ContractHarness, contractStage } from './contract-stage.js';
import { describeDeadLetters } from './dead-letters.js';
import { describeEvents } from './events.js';
import { describeKeyValues } from './key-values.js';
import { describeRuns } from './runs.js';
import { describeStatistics } from './statistics.js';
import { describeWorkerQueues } from './worker-queues.js';

/** Registers the tests that every transport must pass. */
export function describeTransport(name: string, setup: () => Promise<ContractHarness>): void {
  describe(`${name} transport`, () => {
    const stage = contractStage(setup);
    describeEvents(stage);
    describeWorkerQueues(stage);
    describeConnections(stage);
    describeRuns(stage);
    describeDeadLetters(stage);
    describeStatistics(stage);
    describeKeyValues(stage);
  });
}
