import { retainedFailures } from '../../limits.js';
import { type CountedMinute, PeriodHistory } from '../../statistics/period-history.js';
import { rangePeriods, rangeTimes } from '../../statistics/periods.js';
import {
  COUNTERS,
  type FailureRecord,
  periodCounters,
  type ServiceTypeCounts,
  sumCounts,
  type TotalActivity,
  type TypeActivity,
} from '../../statistics/stats.js';
import type { CountReader, TypeCounts } from '../../transport.js';
import type { Database } from '../connection/database.js';
import { type Fields, itemOf, readFields, readList, readNumber, readOptional, readText } from '../connection/fields.js';
import { readError } from './stored-events.js';

/** Returns the counts of all services. */
export function postgresCounts(database: Database): CountReader {
  const metrics = async (types: readonly string[]): Promise<Fields> =>
    readFields(await database.read('metrics', [types]));
  return {
    get: async (types) => readCounts(await database.read('counts', [types])),
    async metrics(type) {
      const { now: nowValue, counts, histories } = await metrics([type]);
      const now = readNumber(nowValue);
      const history = readHistory(itemOf(histories, 0));
      const [found] = readCounts(counts);
      return {
        type,
        ...(found?.total ?? sumCounts([])),
        recent: history.recent(now),
        ...history.durations(now),
        histories: history.histories(now),
      };
    },
    async range(types, from, to) {
      const { now, histories } = await metrics(types);
      const periods = rangePeriods(from, to, readNumber(now));
      const counts = readList(histories).map((history) => readHistory(history).range(periods));
      return { ...rangeTimes(periods), counts };
    },
    async durations(types) {
      return readList(await database.read('history', [types, ['latest']])).map((history) =>
        readHistory(history).totals(),
      );
    },
    async failures(type) {
      return readFailures(itemOf(await database.read('failures_of', [[type], retainedFailures]), 0));
    },
    revision: async (type) => readText(await database.read('revision', [type ?? null])),
  };
}

/** Returns the counts of types. */
export function readCounts(value: unknown): readonly TypeCounts[] {
  return readList(value).map((services) => {
    const found = readList(services).map((each) => {
      const fields = readFields(each);
      return { service: readText(fields['service']), counts: sumCounts([readServiceCounts(fields)]) };
    });
    return { total: sumCounts(found.map(({ counts }) => counts)), services: found };
  });
}

function readServiceCounts(fields: Fields): ServiceTypeCounts {
  const read = Object.keys(COUNTERS).map((name) => [name, readOptional(fields[name], readNumber)]);
  // The function returns every counter of the list.
  return Object.fromEntries(read) as ServiceTypeCounts;
}

/** Returns the activities of types. */
export function readActivities(now: number, histories: unknown, failures: unknown): readonly TypeActivity[] {
  return readList(histories).map((history, index) => {
    const [lastFailure] = readFailures(itemOf(failures, index));
    return { recent: readHistory(history).recent(now), ...(lastFailure !== undefined && { lastFailure }) };
  });
}

/** Returns the activity of all event types. */
export function readTotal(now: number, total: unknown): TotalActivity {
  const history = readHistory(total);
  return { recent: history.recent(now), histories: history.histories(now) };
}

function readFailures(value: unknown): readonly FailureRecord[] {
  return readList(value).map((each) => {
    const { id, at, attempt, requestId, step, error } = readFields(each);
    const { name, message } = readError(error);
    const failedStep = readOptional(step, readText);
    return {
      ...{ id: readText(id), at: readNumber(at), attempt: readNumber(attempt), requestId: readText(requestId) },
      ...(failedStep !== undefined && { step: failedStep }),
      ...{ name, message },
    };
  });
}

/** Returns a history: as it was packed, with the minutes that were counted since then. */
export function readHistory(value: unknown): PeriodHistory {
  const { parts, open } = readFields(value);
  const packed = Object.entries(readFields(parts)).map(([name, text]) => [name, readText(text)] as const);
  const history = new PeriodHistory().restore(packed);
  for (const [minute, counted] of readMinutes(open)) history.add(minute, counted);
  return history;
}

const counterOf = new Map([...'rcfxt'].map((name, index) => [name, index]));

/** Returns the counts of minutes, the earliest first. */
function readMinutes(value: unknown): readonly (readonly [minute: number, counted: CountedMinute])[] {
  const minutes = new Map<number, MutableMinute>();
  const text = readText(value);
  for (const each of text === '' ? [] : text.split(',')) {
    const [minuteText, name = '', bucket, countText, longest] = each.split(' ');
    const [minute, count] = [Number(minuteText), Number(countText)];
    const counted = minutes.get(minute) ?? {
      counts: periodCounters.map(() => 0),
      waits: { buckets: [], longestMs: -1 },
      durations: { buckets: [], longestMs: -1 },
    };
    minutes.set(minute, counted);
    const counter = counterOf.get(name);
    if (counter !== undefined) counted.counts[counter] = (counted.counts[counter] ?? 0) + count;
    else {
      const durations = name === 'w' ? counted.waits : counted.durations;
      durations.buckets.push([Number(bucket), count]);
      durations.longestMs = Math.max(durations.longestMs, Number(longest));
    }
  }
  return [...minutes].sort(([a], [b]) => a - b);
}

interface MutableMinute extends CountedMinute {
  readonly counts: number[];
  readonly waits: MutableDurations;
  readonly durations: MutableDurations;
}

interface MutableDurations {
  readonly buckets: (readonly [bucket: number, count: number])[];
  longestMs: number;
}
