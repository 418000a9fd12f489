/** Number of runs per service type that are retained after their end. */
export const keptRuns = 50;
/** Number of failures per service type that are retained. */
export const keptFailures = 20;
/** Number of minutes per service type for which events are counted. */
export const keptMinutes = 60;
/** Number of entries that a queue's event stream retains; BullMQ requires the stream. */
export const keptQueueEvents = 100;
/** Number of calls or outcomes per script: Redis runs nothing else while a script runs. */
export const maxBatch = 250;
/** Number of jobs or dead letters that one call of a script discards at most. */
export const maxDiscarded = 500;
/** Number of dead letters that one commit evicts at most, for a limit that was lowered by much. */
export const maxEvictedDeadLetters = 100;
/** Number of parked jobs that one call of a script returns to their queues at most. */
export const maxUnparked = 1_000;
