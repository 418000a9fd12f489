/**
 * Limits that hold on every transport. The Lua scripts of Redis are built with the same constants.
 *
 * @module
 */

/** Length of the shortest period of a history, in milliseconds. */
export const minuteMs = 60_000;

/** Terminal failures retained per type. */
export const retainedFailures = 20;

/** Newest events, and newest failed events, retained per type and service without their payloads. */
export const retainedRecent = 50;

/** Attempts retained per event: the first one and the latest ones. */
export const retainedAttempts = 10;

/** Open waits retained per ended run: the oldest ones. */
export const retainedWaits = 100;

/** Maximum number of events that a run keeps until its waits take them. */
export const maxKeptEvents = 1_000;

/** Maximum size of their payloads as they are stored, in bytes of UTF-8. The newest event is kept in any case. */
export const maxKeptBytes = 1_048_576;

/** Maximum number of events that a lookup of a request returns. */
export const maxRequestEvents = 1_000;

/** Default number of completed runs retained per workflow and service. */
export const retainedCompletedRuns = 50;

/** Default number of failed runs retained per workflow and service. */
export const retainedFailedRuns = 200;

/** Maximum number of runs that a list of the latest runs contains. */
export const latestRuns = 50;

/** Default of `maxDeadLetters`: dead letters retained per service and type. */
export const defaultMaxDeadLetters = 1_000;

/**
 * Default of `maxCrashes`. Nothing tells a kill from outside from a crash: with 3, 8 of 13,758 innocent events failed in a
 * fleet whose processes were killed all the time. With 5, a poison event ends two processes more.
 */
export const defaultMaxCrashes = 5;

/** Least `maxCrashes`: an event runs alone after a crash, and only the next one then proves that it is the cause. */
export const leastCrashes = 2;

/** Maximum number of values per `append`: on Redis other commands wait while a script adds them. */
export const maxAppendValues = 10_000;

/** Maximum number of entries per list of the key-value store. */
export const maxListLength = 1_000_000;
