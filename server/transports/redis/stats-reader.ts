import { DurationSketch } from '../duration-sketch.js';
import type { EventMetrics, FailureRecord, MinuteBucket } from '../stats.js';
import { type ServiceTypeCounts, sumCounts } from '../sum-counts.js';
import type { TypeCounts } from '../transport.js';
import { eventIdOf, serviceOf } from './names.js';
import { decodeError } from './outcome-codec.js';
import { readArray, readHash, readNumber, readOptional, readString } from './reply.js';

const minuteMs = 60_000;
const minutesKept = 60;
const failuresKept = 20;

/** Reads what `countsScript` answered. */
export function readCounts(answer: unknown): TypeCounts[] {
  const lines = readString(answer).split('\n').slice(0, -1);
  return lines.map((line) => {
    const units = line === '' ? [] : line.split(',').map(readUnit);
    return {
      total: sumCounts(units.map(({ counts }) => counts)),
      services: units.map(({ service, counts }) => ({ service, counts: sumCounts([counts]) })),
    };
  });
}

function readUnit(text: string): { readonly service: string; readonly counts: ServiceTypeCounts } {
  const [unit, active, received, completed, failed, retried, lastReceivedAt, lastFailedAt] = text.split(' ');
  const counts = {
    active: readNumber(active),
    received: readNumber(received),
    completed: readNumber(completed),
    failed: readNumber(failed),
    retried: readNumber(retried),
    lastReceivedAt: lastReceivedAt ? readNumber(lastReceivedAt) : undefined,
    lastFailedAt: lastFailedAt ? readNumber(lastFailedAt) : undefined,
  };
  return { service: serviceOf(readString(unit)), counts };
}

/** Reads what `metricsScript` answered, and adds up its units. */
export function readMetrics(type: string, answer: unknown): EventMetrics {
  const [now, ...rows] = readArray(answer);
  const durations = new DurationSketch();
  const units: ServiceTypeCounts[] = [];
  const minutes = new Map<string, number>();
  let deduplicated = 0;
  for (const row of rows) {
    const [active, stats, unitMinutes] = readArray(row);
    const fields = readHash(stats);
    const count = (field: string): number => Number(fields.get(field) ?? 0);
    const at = (field: string): number | undefined => readOptional(fields.get(field), readNumber);
    units.push({
      received: count('received'),
      completed: count('completed'),
      failed: count('failed'),
      active: readNumber(active),
      retried: count('retried'),
      lastReceivedAt: at('lastReceivedAt'),
      lastFailedAt: at('lastFailedAt'),
    });
    deduplicated += count('deduplicated');
    for (const [field, times] of fields) {
      const bucket = /^d(-?\d+)$/.exec(field)?.[1];
      if (bucket !== undefined) durations.addBucket(Number(bucket), Number(times), count('longest'));
    }
    for (const [field, times] of readHash(unitMinutes)) minutes.set(field, (minutes.get(field) ?? 0) + Number(times));
  }
  const durationMs = durations.durations();
  return { type, ...sumCounts(units), deduplicated, durationMs, perMinute: lastHour(minutes, readNumber(now)) };
}

/** Reads what `failuresScript` answered: the newest of all units, newest first. */
export function readFailures(answer: unknown): FailureRecord[] {
  return readArray(answer)
    .flatMap((list) => readArray(list).map(readFailure))
    .sort((a, b) => b.at - a.at)
    .slice(0, failuresKept);
}

function readFailure(entry: unknown): FailureRecord {
  const { id, at, attempt, error } = Object(JSON.parse(readString(entry))) as Record<string, unknown>;
  const { name, message } = decodeError(readString(error));
  return { id: eventIdOf(readString(id)), at: readNumber(at), attempt: readNumber(attempt), name, message };
}

function lastHour(minutes: ReadonlyMap<string, number>, now: number): MinuteBucket[] {
  const current = Math.floor(now / minuteMs);
  return Array.from({ length: minutesKept }, (_, index) => {
    const minute = current - minutesKept + 1 + index;
    const count = (letter: string): number => minutes.get(`${minute}${letter}`) ?? 0;
    return { at: minute * minuteMs, received: count('r'), completed: count('c'), failed: count('f') };
  });
}
