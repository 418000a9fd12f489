import { describe } from 'vitest';
import { describeConnections } from './connections.js';
import { type ContractHarness, contractStage } from './contract-stage.js';
import { describeDeadLetters } from './dead-letters.js';
import { describeEvents } from './events.js';
import { describeKeyValues } from './key-values.js';
import { describeLanes } from './lanes.js';
import { describeRuns } from './runs.js';
import { describeStatistics } from './statistics.js';

/** Everything that holds for every transport. Called once by each transport's own test. */
export function describeTransport(name: string, setup: () => Promise<ContractHarness>): void {
  describe(`${name} transport`, () => {
    const stage = contractStage(setup);
    describeEvents(stage);
    describeLanes(stage);
    describeConnections(stage);
    describeRuns(stage);
    describeDeadLetters(stage);
    describeStatistics(stage);
    describeKeyValues(stage);
  });
}
