import {
  type Counts,
  countersOf,
  type Durations,
  type Histories,
  type History,
  type PeriodCounts,
  periodCounters,
  type RecentActivity,
} from '../../server/dashboard/protocol.js';
import { array, type Decoder, forEach, nullable, number, numbers, object, optional } from './decoder.js';

export const countFields = {
  ...forEach(countersOf('stored', 'live'), number),
  ...forEach(countersOf('optional', 'latest', 'oldest'), optional(number)),
};

export const counts: Decoder<Counts> = object<Counts>(countFields);

export const periodCounts: Decoder<PeriodCounts> = object<PeriodCounts>(forEach(periodCounters, number));

const minutes = object<RecentActivity['minutes']>({ received: numbers, failed: numbers });

export const recentActivity: Decoder<RecentActivity> = object<RecentActivity>({
  last5Min: periodCounts,
  waitP95Ms: nullable(number),
  durationP95Ms: nullable(number),
  minutes,
});

export const durations: Decoder<Durations> = object<Durations>({
  p50: nullable(number),
  p95: nullable(number),
  p99: nullable(number),
  max: nullable(number),
});

const history = object<History>({
  startAt: number,
  stepMs: number,
  received: numbers,
  completed: numbers,
  failed: numbers,
  waitP95Ms: array(nullable(number)),
  durationP95Ms: array(nullable(number)),
});

export const histories: Decoder<Histories> = object<Histories>({
  minutes: history,
  fiveMinutes: history,
  hours: history,
});
