import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { createHub, type Hub } from '../../dist/index.js';
import { redisTransport } from '../../dist/transports/redis/index.js';
import { median } from '../measuring/measure.js';
import type { Row } from '../measuring/row.js';

const types = Array.from({ length: 1_000 }, (_, n) => `type ${n}`);
const polls = 15;
const historyMinutes = 59;
const minuteMs = 60_000;

/**
 * Measures the dashboard's query: everything that three processes registered. Before each poll every type receives an
 * event, and all of them end, so that no poll competes with handlers. The last polls read types that have been in use
 * for an hour.
 */
export async function introspected(url: string): Promise<Row[]> {
  const prefix = randomUUID();
  const hubs = Array.from({ length: 3 }, () => createHub({ transport: redisTransport({ url, prefix }) }));
  for (const hub of hubs) {
    for (const type of types) hub.event({ type, handler: () => {} });
    await hub.start();
  }
  const observer = createHub({ transport: redisTransport({ url, prefix }), observer: true });
  await observer.start();
  const poll = async (): Promise<number> => {
    await Promise.all(types.map((type) => hubs[0]?.emit(type, { id: 1 })));
    while (((await hubs[0]?.introspect())?.totals.metrics.pending ?? 0) > 0) await delay(100);
    const startedAt = performance.now();
    await observer.introspect();
    return performance.now() - startedAt;
  };
  const row = async (scenario: string): Promise<Row> => {
    const durations: number[] = [];
    for (let time = 0; time < polls; time += 1) durations.push(await poll());
    const target = { of: 'figure', limit: 'at most', value: 20 } as const;
    return { scenario, unit: 'ms', hubline: median(durations), target };
  };
  const rows = [await row('Redis: introspect 1,000 types of 3 processes, all changed')];
  await addHistory(url, prefix);
  await checkHistory(observer);
  rows.push(await row('Redis: the same after an hour of activity'));
  for (const hub of [observer, ...hubs]) await hub.stop();
  return rows;
}

/** Writes counts of the minutes before the current one as scripts do, and waits until a process has stored the histories. */
async function addHistory(url: string, prefix: string): Promise<void> {
  const admin = new Redis(url);
  const [seconds] = await admin.time();
  const minute = Math.floor((Number(seconds) * 1_000) / minuteMs);
  const counts = (index: number, ago: number): string =>
    `r=${1 + ((index * 7 + ago * 3) % 30)} c=9 f=1 w31=1 w32=2 w33=3 w34=2 d-34=3 d-33=1 d-32=1 d-31=2 d-30=1`;
  for (let ago = historyMinutes; ago > 0; ago -= 1) {
    const fields = types.flatMap((type, index) => [encodeURIComponent(type), counts(index, ago)]);
    await admin.hset(`{${prefix}}:counted:${minute - ago}`, ...fields);
    await admin.zadd(`{${prefix}}:counted-minutes`, minute - ago, `${minute - ago}`);
  }
  while ((await admin.zcount(`{${prefix}}:counted-minutes`, '-inf', minute - 1)) > 0) await delay(100);
  admin.disconnect();
}

/** Throws if the transport no longer reads what `addHistory` has written. */
async function checkHistory(observer: Hub): Promise<void> {
  const { events } = await observer.introspect();
  const without = events.filter(({ recent }) => recent.minutes.received.filter((count) => count > 0).length < 15);
  if (without.length > 0) throw new Error(`${without.length} types have no history: its layout has changed`);
}
