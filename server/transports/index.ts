/**
 * Types and helpers for authors of a transport. Users of a transport find everything they need in `hubline`.
 *
 * @module hubline/transport
 */

export type { ErrorInfo } from '../errors.js';
export type { BoundedLog, LogBounds, LogEntry, LogPage, LogStorage } from './bounded-log.js';
export { CheckedLog } from './bounded-log.js';
export type { Clock, Timer } from './clock.js';
export { systemClock } from './clock.js';
export type {
  AwaitedEvent,
  CommitResult,
  DeclaredEvent,
  Delivery,
  Envelope,
  EnvelopePayload,
  FailedOutcome,
  Outcome,
  RateLimit,
  RunRetention,
  RunWait,
  Subscription,
  WaitResolution,
  WaitTimes,
} from './delivery.js';
export { triggeredId } from './derived-ids.js';
export type {
  AttemptRecord,
  DeadLetterFilter,
  ErasedPayloads,
  EventRecord,
  EventStatus,
  InboxRecord,
  OpenWait,
  RecentEvents,
  RequestRecords,
  RunRecord,
  RunStatus,
} from './event-record.js';
export { approvalsFirst, eventOfRun, keepAttempt, toRecentEvents, toRequestRecords } from './event-record.js';
export type { KeyValueStore } from './key-values.js';
export { CheckedKeyValueStore } from './key-values.js';
export {
  defaultMaxDeadLetters,
  maxAppendValues,
  maxListLength,
  maxRequestEvents,
  minuteMs,
  retainedAttempts,
  retainedFailures,
  retainedRecent,
  retainedWaits,
} from './limits.js';
export { DurationSketch, DurationTotals, durationBoundsMs, durationBucket } from './statistics/durations.js';
export { NumberReader, NumberWriter } from './statistics/packed-numbers.js';
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
  ServiceTypeCounts,
  TotalActivity,
  TypeActivity,
  TypeDurations,
} from './statistics/stats.js';
export { sumCounts } from './statistics/stats.js';
export type {
  ClaimResult,
  CloseResult,
  ConnectedProcess,
  ConsumeOptions,
  CountReader,
  DeadLetterRecord,
  DeadLetterStore,
  DeliveryHandler,
  EventLookup,
  FleetReader,
  Logger,
  Overview,
  OverviewQuery,
  Receipt,
  RunStore,
  ScheduleClaim,
  ScheduleOpening,
  ScheduleRecord,
  ScheduleStore,
  Transport,
  TransportManager,
  TypeCounts,
} from './transport.js';
