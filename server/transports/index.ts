/**
 * Types and helpers for authors of a transport. Users of a transport find everything they need in `hubline`.
 *
 * @module hubline/transport
 */

export type { ErrorInfo } from '../errors.js';
export { CheckedKeyValueStore } from './checked-key-value-store.js';
export type { Clock, Timer } from './clock.js';
export { systemClock } from './clock.js';
export { triggeredId } from './derive-id.js';
export type {
  AttemptRecord,
  DeadLetterFilter,
  ErasedPayloads,
  EventRecord,
  EventStatus,
  RecentEvents,
  RequestRecords,
} from './event-record.js';
export { eventOfRun, keepAttempt, toRecentEvents, toRequestRecords } from './event-record.js';
export type { KeyValueStore } from './key-value-store.js';
export {
  defaultMaxDeadLetters,
  keptAttempts,
  keptFailures,
  keptRecent,
  maxAppendValues,
  maxListLength,
  maxRequestEvents,
  minuteMs,
} from './limits.js';
export type { Logger } from './logger.js';
export { approvalsFirst } from './run-record.js';
export type { ClaimResult, ScheduleClaim, ScheduleOpening, ScheduleRecord, ScheduleStore } from './schedules.js';
export { DurationSketch, durationBucket } from './statistics/duration-sketch.js';
export { DurationTotals, durationBoundsMs } from './statistics/duration-totals.js';
export type {
  Counts,
  DurationCounts,
  Durations,
  EventMetrics,
  FailureRecord,
  Histories,
  History,
  PeriodCounts,
  PeriodDurations,
  RangeCounts,
  RecentActivity,
  TotalActivity,
  TypeActivity,
  TypeDurations,
} from './statistics/stats.js';
export type { ServiceTypeCounts } from './statistics/sum-counts.js';
export { sumCounts } from './statistics/sum-counts.js';
export type {
  CloseResult,
  CommitResult,
  ConnectedProcess,
  ConsumeOptions,
  DeadLetterRecord,
  DeclaredEvent,
  Delivery,
  DeliveryHandler,
  Envelope,
  FailedOutcome,
  OpenWait,
  Outcome,
  Overview,
  OverviewQuery,
  RateLimit,
  Receipt,
  RunRecord,
  RunRetention,
  RunStatus,
  RunWait,
  Subscription,
  Transport,
  TransportManager,
  TypeCounts,
  WaitResolution,
  WaitTimes,
} from './transport.js';
