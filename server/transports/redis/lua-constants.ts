import { errorInfo } from '../../errors.js';
import { workflowType } from '../delivery.js';
import { RetiredError } from '../errors.js';
import { interruptedError } from '../event-record.js';
import {
  maxKeptBytes,
  maxKeptEvents,
  maxRequestEvents,
  minuteMs,
  retainedAttempts,
  retainedCompletedRuns,
  retainedFailedRuns,
  retainedFailures,
  retainedRecent,
  retainedWaits,
} from '../limits.js';
import { formerConnectionMs } from '../services.js';
import { durationGrowth, shortestMs } from '../statistics/durations.js';
import { periodKinds, trendMinutes } from '../statistics/periods.js';
import { dataLayout } from './connection/keys.js';
import {
  fieldBatch,
  maxBatchLength,
  maxChanges,
  maxDiscarded,
  maxDuePerFetch,
  maxEvictedDeadLetters,
  maxTypesPerChange,
  maxTypesPerScript,
  orderSpan,
  retainedQueueEvents,
} from './connection/script-limits.js';
import { unsubscribedReply } from './jobs/event-codec.js';
import { encodeName } from './names.js';

const { minutes, hours } = periodKinds;

// Short names of the fields that each record of a suspended run has.
const shortNames = { acceptedAt: 'a', attempt: 'n', ats: 's', order: 'o' };

/** Values that Lua files use as `constants.name`. Only the build reads them: it writes them into the scripts. */
export const luaConstants: Readonly<Record<string, string | number | Readonly<Record<string, string>>>> = {
  // Limits that the transports share.
  formerConnectionMs,
  retainedAttempts,
  retainedCompletedRuns,
  retainedFailedRuns,
  retainedFailures,
  retainedRecent,
  maxKeptBytes,
  maxKeptEvents,
  // Fields of an inbox that are no events.
  inboxFields: 5,
  retainedWaits,
  maxRequestEvents,

  // Limits of scripts.
  fieldBatch,
  retainedQueueEvents,
  maxBatchLength,
  maxChanges,
  maxDiscarded,
  maxDuePerFetch,
  maxEvictedDeadLetters,
  maxTypesPerChange,
  maxTypesPerScript,
  // A lowered limit leaves many to evict: each end evicts some, because nothing else runs meanwhile.
  maxEvictedRuns: 100,
  // Ended events are evicted several at a time, which costs three commands.
  evictedAtOnce: 10,
  endedAtOnce: 100,
  valuesAtOnce: 1_000,
  // Observers read the packed records of the newest runs whole, and Redis runs nothing else while a script packs one.
  maxPackedLength: 8_192,
  maxPackedEntries: 100,

  // Times.
  // A run that was evicted while a process waits for its end stays readable for so long, and for `repeatableMs` after the
  // last of these processes has read it, in case that its reply is lost.
  awaitedMs: 10 * minuteMs,
  repeatableMs: minuteMs,
  // The end of a run stays readable for so long after the run was accepted, because it can end before the process that
  // started it has the chance to ask for its result, and after a process that waited for it has read it.
  recentMs: 10_000,
  // Every living process has a heartbeat within 5 s, or some later if it stalls, and registers again if its registration is gone.
  recoveryMs: 8_000,

  // A worker fetches before it waits for its own marker: one that it did not hear in this time has no use.
  markerMs: minuteMs,

  // Longest time for which a rate with a longer window knows the starts under a shorter one.
  retainedStartsMs: 1_440 * minuteMs,

  // Orders.
  orderSpan,
  // Added to the order of events that hold a slot of their key: they stand before all others of it.
  heldSpan: 2 ** 52,
  maxSafeInteger: Number.MAX_SAFE_INTEGER,

  // Each is small up to a hundred thousand events, and takes no more than a key of its own for few.
  placeSlots: 1_024,

  // Statistics.
  minuteMs,
  trendMinutes,
  hourPerMinute: hours.stepMs / minutes.stepMs,
  historyMs: hours.length * hours.stepMs + hours.stepMs,
  // One process at a time moves minutes to the histories; if it dies, another one continues after this time.
  rollingMs: 5_000,
  shortestMs,
  // Three years: 14 digits.
  longestUs: 10 ** 14 - 1,
  logDurationGrowth: Math.log(durationGrowth),
  // Runs of workflows are not part of the total.
  workflowPrefix: encodeName(workflowType('')),

  // Replies.
  unsubscribedReply,

  // Stored data.
  dataLayout,
  bodyStart: ',"body":"',
  shortNames,
  longNames: Object.fromEntries(Object.entries(shortNames).map(([long, short]) => [short, long])),
  interruptedError: JSON.stringify(interruptedError),
  retiredError: JSON.stringify(errorInfo(new RetiredError())),
};
