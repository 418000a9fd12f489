import { setTimeout as sleep } from 'node:timers/promises';
import { createHub } from '../../dist/index.js';
import type { Row } from '../measuring/row.js';
import { addingAgent, turnsOfRun } from './adding-agent.js';

const runs = 1_000;
const rounds = 10;

/** Measures the processor time that a durable turn takes in memory, with an instant model and tool. */
export async function durableTurn(): Promise<Row[]> {
  const hub = createHub();
  hub.event({ type: 'asked', handler: addingAgent().asHandler() });
  await hub.start();
  const work = async (): Promise<void> => {
    for (let run = 0; run < runs; run += 1) void hub.emit('asked', 'Add');
    do await sleep(10);
    while ((await hub.metrics('asked')).pending > 0);
  };
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round += 1) least = Math.min(least, await perTurn(work));
  const { completed, failed } = await hub.metrics('asked');
  if (completed !== rounds * runs) throw new Error(`${failed} runs failed`);
  await hub.stop();
  return [
    {
      scenario: 'a durable turn of an event: 5 with a tool call, then an answer',
      unit: 'us of processor',
      hubline: least,
      target: { of: 'figure', limit: 'at most', value: 40 },
    },
  ];
}

/** Returns the processor time per turn in microseconds. */
async function perTurn(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / (runs * turnsOfRun);
}
