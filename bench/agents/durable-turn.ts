import { setTimeout as sleep } from 'node:timers/promises';
import { createHub } from '../../dist/index.js';
import type { Row, Target } from '../measuring/row.js';
import { addingAgent, turnsOfRun } from './adding-agent.js';
import { aiSdk } from './turn-contenders.js';

const runs = 1_000;
const rounds = 10;

/**
 * Measures the processor time that a durable turn takes in memory, with an instant model and tool, next to a turn
 * without a hub. The runs of a round are under way at once; those of the AI SDK follow each other.
 */
export async function durableTurn(): Promise<Row[]> {
  const hub = createHub();
  hub.event({ type: 'asked', handler: addingAgent().asHandler() });
  await hub.start();
  const durable = async (): Promise<void> => {
    for (let run = 0; run < runs; run += 1) void hub.emit('asked', 'Add');
    do await sleep(10);
    while ((await hub.metrics('asked')).pending > 0);
  };
  const agent = addingAgent();
  const inMemory = async (): Promise<void> => {
    await Promise.all(Array.from({ length: runs }, () => agent.run('Add')));
  };
  const ai = aiSdk();
  const least = { durable: Number.POSITIVE_INFINITY, inMemory: Number.POSITIVE_INFINITY, ai: Number.POSITIVE_INFINITY };
  for (let round = 0; round < rounds; round += 1) {
    least.durable = Math.min(least.durable, await perTurn(durable));
    least.inMemory = Math.min(least.inMemory, await perTurn(inMemory));
    least.ai = Math.min(least.ai, await perTurn(() => ai.run(runs * turnsOfRun)));
  }
  const { completed, failed } = await hub.metrics('asked');
  if (completed !== rounds * runs) throw new Error(`${failed} runs failed`);
  await hub.stop();
  const row = (target: Target, peer?: Row['peer']): Row => ({
    scenario: 'a durable turn of an event: 5 with a tool call, then an answer',
    unit: 'us of processor',
    hubline: least.durable,
    target,
    ...(peer !== undefined && { peer }),
  });
  return [
    row({ of: 'figure', limit: 'at most', value: 40 }),
    row({ of: 'ratio', limit: 'at most', value: 4 }, { name: 'a turn without a hub', figure: least.inMemory }),
    row({ of: 'ratio', limit: 'at most', value: 1 }, { name: ai.name, figure: least.ai }),
  ];
}

/** Returns the processor time per turn in microseconds. */
async function perTurn(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / (runs * turnsOfRun);
}
