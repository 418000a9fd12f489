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
export type { Codec } from './codec.js';
export type {
  AwaitedEvent,
  CancelReason,
  CommitResult,
  CompletedOutcome,
  DeclaredEvent,
  Delivery,
  Envelope,
  EnvelopePayload,
  FailedOutcome,
  Offer,
  Outcome,
  RateLimit,
  RevokedCallback,
  RunRetention,
  RunWait,
  SqlTransaction,
  Subscription,
  TransactionRecord,
  TransactionSettings,
  Verdict,
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
  KeptEventRecord,
  OpenWait,
  RecentEvents,
  RequestRecords,
  RunPage,
  RunPageQuery,
  RunPlace,
  RunRecord,
  RunStatus,
} from './event-record.js';
export {
  approvalsFirst,
  eventOfRun,
  keepAttempt,
  nextRunPlace,
  readRunPlace,
  toRecentEvents,
  toRequestRecords,
} from './event-record.js';
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
export { NumberReader, NumberWriter } from './statistics/packed-periods.js';
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
  DeadLetterError,
  DeadLetterRecord,
  DeadLetterStore,
  DeliveryHandler,
  DroppedEvent,
  EventLookup,
  FleetReader,
  Logger,
  Overview,
  OverviewQuery,
  PausedTypes,
  Receipt,
  RunStore,
  ScheduleClaim,
  ScheduleOpening,
  ScheduleRecord,
  ScheduleStore,
  StoredSchedule,
  StoredSchedulePage,
  TakenSchedules,
  Transport,
  TransportManager,
  TypeCounts,
} from './transport.js';
