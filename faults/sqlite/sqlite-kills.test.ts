import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { type LedgerEntry, readLedger } from '../workers/ledger.js';
import { workflowSteps } from '../workers/scenarios.js';
import { isLong, until } from '../workers/scene.js';
import { newFolder, startOwner } from './sqlite-process.js';

const kills = isLong ? 200 : 4;
const perProcess = 100_000;
// A process on a busy machine takes seconds to start.
const timeout = 60_000 + kills * 10_000;

it(`no event is lost or ends twice while the process that owns a file is killed ${kills} times`, {
  timeout,
}, async () => {
  const folder = newFolder();
  for (let count = 0; count < kills; count += 1) {
    const owner = await startOwner(folder, 'emit', count * perProcess);
    const isAccepted = ({ what, pid }: LedgerEntry): boolean => what === 'accepted' && pid === owner.pid;
    await until('an event is accepted', () => readLedger(folder).some(isAccepted));
    await delay(Math.random() * 450);
    await owner.end();
  }
  const last = await startOwner(folder, '', kills * perProcess);
  const counts = await last.drainedCounts();

  const accepted = new Set<string>();
  const endings = new Map<string, string>();
  const reached = new Map<string, string[]>();
  for (const { what, key } of readLedger(folder)) {
    const [verb = '', word = ''] = what.split(' ');
    if (verb === 'accepted') accepted.add(key);
    if (verb === 'settled' || verb === 'ended') endings.set(key, word);
    if (verb !== 'start') continue;
    expect(endings.get(key), `event ${key} ran again after its outcome was recorded`).toBeUndefined();
    if (word === '') continue;
    const steps = reached.get(key) ?? [];
    const [index, before] = [workflowSteps.indexOf(word), workflowSteps.indexOf(steps.at(-1) ?? '')];
    expect([before, before + 1], `run ${key} went from step ${before} to ${index}`).toContain(index);
    reached.set(key, [...steps, word]);
  }
  expect(accepted.size).toBeGreaterThanOrEqual(kills);
  for (const key of accepted) expect(endings.has(key), `event ${key} was accepted and has not ended`).toBe(true);
  for (const [key, ending] of endings) expect(ending, `event ${key}`).toBe('completed');
  const runs = [...endings.keys()].filter((key) => Number(key) % 10 === 0).length;
  const events = endings.size - runs;
  expect(counts).toEqual([
    [events, events, 0, 0],
    [events, events, 0, 0],
    [runs, runs, 0, 0],
    [runs, runs, 0, 0],
    [runs, runs, 0, 0],
  ]);
  console.log(`${kills} kills, ${events} events and ${runs} runs, ${accepted.size} acknowledged`);
});
