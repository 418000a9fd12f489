import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { createHub, type Hub } from '../../dist/index.js';
import { redisTransport } from '../../dist/transports/redis/index.js';
import { median } from '../measuring/measure.js';
import type { Row } from '../measuring/row.js';

const types = Array.from({ length: 1_000 }, (_, n) => `type ${n}`);
const polls = 15;
const trendMinutes = 20;
const minuteMs = 60_000;

/**
 * Measures the dashboard's query: everything that three processes registered. Before each poll every type receives an
 * event, and all of them end, so that no poll competes with handlers. The last polls read types that have been in use
 * for 20 minutes, which are most of what a poll reads.
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
  rows.push(await row('Redis: the same after 20 minutes of activity'));
  for (const hub of [observer, ...hubs]) await hub.stop();
  return rows;
}

/** Writes the minutes before the current ones, as the scripts of the transport would have in that time. */
async function addHistory(url: string, prefix: string): Promise<void> {
  const admin = new Redis(url);
  const minute = Math.floor(Date.now() / minuteMs);
  const base36 = (number: number, length: number): string => number.toString(36).toUpperCase().padStart(length, '0');
  const line = (ago: number, index: number): string => {
    const counts = `r${base36(1 + ((index * 7 + ago * 3) % 30), 1)}c9f1`;
    const head = base36((minute - ago) % 36 ** 3, 3);
    return ago < 7 ? `${head}0000${counts}w31=1==2=3==2d-34=3==1=1==2=1` : `${head}5I5K${counts}`;
  };
  const trend = (index: number): string => {
    const lines = Array.from({ length: trendMinutes - 1 }, (_, n) => line(trendMinutes - n, index));
    return `${minute - 2}\n${lines.join('\n')}\n`;
  };
  await admin.hset(`{${prefix}}:trends`, ...types.flatMap((type, index) => [encodeURIComponent(type), trend(index)]));
  admin.disconnect();
}

/** Throws if the transport no longer reads what `addHistory` has written. */
async function checkHistory(observer: Hub): Promise<void> {
  const { events } = await observer.introspect();
  const without = events.filter(({ recent }) => recent.minutes.received.filter((count) => count > 0).length < 15);
  if (without.length > 0) throw new Error(`${without.length} types have no history: its layout has changed`);
}
