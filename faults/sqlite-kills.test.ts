import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { readLedger } from './ledger.js';
import { workflowSteps } from './scenarios.js';
import { isLong } from './scene.js';

const script = new URL('sqlite-worker.ts', import.meta.url);
const kills = isLong ? 200 : 6;
const perProcess = 100_000;

it(`no event is lost or ends twice while the process that owns a file is killed ${kills} times`, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hubline-ledger-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const start = async (first: number, emitting: string): Promise<ChildProcess> => {
    const args = [join(folder, 'hub.db'), folder, String(first), emitting];
    const child = fork(script, args, { execArgv: ['--import', 'tsx'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    expect(await Promise.race([once(child, 'message'), once(child, 'exit')])).toEqual(['ready', undefined]);
    return child;
  };
  for (let kill = 0; kill < kills; kill += 1) {
    const child = await start(kill * perProcess, 'emit');
    await delay(50 + Math.random() * 450);
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  const last = await start(kills * perProcess, '');
  const read = async (): Promise<number[][]> => {
    last.send('counts');
    const [counts] = await once(last, 'message');
    return counts;
  };
  let counts = await read();
  while (counts.some(([, , , pending]) => pending !== 0)) {
    await delay(100);
    counts = await read();
  }

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
  expect(accepted.size).toBeGreaterThan(10 * kills);
  for (const key of accepted) expect(endings.has(key), `event ${key} was accepted and has not ended`).toBe(true);
  for (const [key, ending] of endings) expect(ending, `event ${key}`).toBe('completed');
  const runs = [...endings.keys()].filter((key) => Number(key) % 10 === 0).length;
  const events = endings.size - runs;
  expect(counts).toEqual([
    [events, events, 0, 0],
    [events, events, 0, 0],
    [runs, runs, 0, 0],
    [runs, runs, 0, 0],
  ]);
  console.log(`${kills} kills, ${events} events and ${runs} runs, ${accepted.size} acknowledged`);
});
