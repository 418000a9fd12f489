/**
 * Types and helpers for authors of a transport. Users of a transport find everything they need in `hubline`.
 *
 * @module hubline/transport
 */

export type { ErrorInfo } from '../errors.js';
export type { AttemptRecord } from './attempt-record.js';
export { keepAttempt } from './attempt-record.js';
export type { Clock, Timer } from './clock.js';
export { systemClock } from './clock.js';
export { triggeredId } from './derive-id.js';
export type { EnvelopePayload } from './envelope.js';
export type {
  DeadLetterFilter,
  ErasedPayloads,
  EventRecord,
  EventStatus,
  RecentEvents,
  RequestRecords,
} from './event-record.js';
export { eventOfRun, toRecentEvents, toRequestRecords } from './event-record.js';
export { CheckedKeyValueStore } from './key-values/checked-key-value-store.js';
export type { KeyValueStore } from './key-values/key-value-store.js';
export {
  defaultMaxDeadLetters,
  keptAttempts,
  keptFailures,
  keptRecent,
  keptWaits,
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
