import { setTimeout } from 'node:timers/promises';
import type { CDPSession } from 'playwright';
import { type OpenPage, readMetric, type Scene } from './loaded-page.js';

/** The first few polls compile the page's code. */
const warmUps = 8;
const polls = 40;
const settleMs = 500;
export const samplingUs = 500;

/** Cost of one poll on the main thread, in milliseconds. */
export interface Cost {
  /** From the profiler's samples: the browser's counter of script leaves out what runs in microtasks. */
  readonly script: number;
  readonly garbageCollection: number;
  readonly layout: number;
  /** Everything that occupied the main thread, the profiler's samples included. */
  readonly mainThread: number;
}

/** Fields of a profile that are read. */
interface Profile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: { readonly functionName: string } }[];
  readonly samples?: readonly number[];
  /** Microseconds since the sample before. */
  readonly timeDeltas?: readonly number[];
}

/** Milliseconds since the page was opened. */
async function readLayout(session: CDPSession): Promise<number> {
  return (await readMetric(session, 'LayoutDuration', 'RecalcStyleDuration')) * 1_000;
}

/** Sums up a profile by what the main thread did. */
export function profiled({
  nodes,
  samples = [],
  timeDeltas = [],
}: Profile): Pick<Cost, 'script' | 'garbageCollection'> {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, callFrame.functionName]));
  const cost = { script: 0, garbageCollection: 0 };
  for (const [index, id] of samples.entries()) {
    // A delta leads up to its sample: what is sampled lasts until the next one.
    const ms = (timeDeltas[index + 1] ?? 0) / 1_000;
    const name = names.get(id) ?? '';
    if (name === '(garbage collector)') cost.garbageCollection += ms;
    else if (!['(idle)', '(program)', '(root)'].includes(name)) cost.script += ms;
  }
  return cost;
}

async function measurePoll({ change, clock }: Scene, { page, session }: OpenPage): Promise<Cost> {
  await change();
  await clock.advance(1_000);
  // The start of the profiler lists all functions of the page, which takes as long as a poll.
  await session.send('Profiler.start');
  const tasksBefore = await readMetric(session, 'TaskDuration');
  const layoutBefore = await readLayout(session);
  const answer = page.waitForResponse(/events=columns$/);
  // Not through Playwright, whose clicks run scripts in the page.
  await session.send('Runtime.evaluate', {
    expression: `document.dispatchEvent(new KeyboardEvent('keydown', { key: 'r' }))`,
  });
  await (await answer).finished();
  await setTimeout(settleMs);
  const mainThread = ((await readMetric(session, 'TaskDuration')) - tasksBefore) * 1_000;
  const layout = (await readLayout(session)) - layoutBefore;
  const { profile } = await session.send('Profiler.stop');
  return { ...profiled(profile), layout, mainThread };
}

/** Returns the cost of polls in an open page, each after an event of every type. */
export async function measurePolls(scene: Scene, opened: OpenPage, measured: number = polls): Promise<readonly Cost[]> {
  await opened.session.send('Profiler.enable');
  await opened.session.send('Profiler.setSamplingInterval', { interval: samplingUs });
  const costs: Cost[] = [];
  for (let poll = 0; poll < warmUps + measured; poll += 1) costs.push(await measurePoll(scene, opened));
  return costs.slice(warmUps);
}
