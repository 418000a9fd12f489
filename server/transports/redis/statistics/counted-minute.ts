import type { CountedMinute } from '../../statistics/period-history.js';

type Buckets = (readonly [bucket: number, count: number])[];

const [space, minus, zero, nine, equals] = [32, 45, 48, 57, 61] as const;
// Names are small letters.
const [firstName, lastName] = [97, 122] as const;
/** Counters of `periodCounters` by their names. */
const counterOf = new Map([...'rcfxt'].map((name, index) => [name.charCodeAt(0), index]));
const [wait, duration, completed, longestWait, longestDuration] = [119, 100, 101, 112, 113] as const;
const completedIndex = 1;
const usPerMs = 1_000;

/**
 * Reads the counts of a type in a minute, as count-records.lua describes them: `r=2 w31=2 e-21=1 q=14`. What is no number
 * counts as 0. It reads characters in place: a thousand types have ten thousand counts.
 */
export function readCountedMinute(text: string): CountedMinute {
  const counts = [0, 0, 0, 0, 0];
  const waits = { buckets: [] as Buckets, longestMs: -1 };
  const durations = { buckets: [] as Buckets, longestMs: -1 };
  const add = (name: number, bucket: number, count: number): void => {
    const counter = counterOf.get(name);
    if (counter !== undefined) counts[counter] = (counts[counter] ?? 0) + count;
    else if (name === wait) waits.buckets.push([bucket, count]);
    else if (name === duration) durations.buckets.push([bucket, count]);
    else if (name === longestWait) waits.longestMs = count / usPerMs;
    else if (name === longestDuration) durations.longestMs = count / usPerMs;
    else if (name === completed) {
      counts[completedIndex] = (counts[completedIndex] ?? 0) + count;
      durations.buckets.push([bucket, count]);
    }
  };
  let [name, bucket, number, isNegative] = [0, 0, 0, false];
  // The end of the text ends the last count as a space does.
  for (let at = 0; at <= text.length; at += 1) {
    const code = at === text.length ? space : text.charCodeAt(at);
    if (code >= zero && code <= nine) number = number * 10 + code - zero;
    else if (code >= firstName && code <= lastName) name = code;
    else if (code === minus) isNegative = true;
    else if (code === equals) [bucket, number, isNegative] = [isNegative ? -number : number, 0, false];
    else if (code === space) {
      if (name !== 0 && number > 0 && Number.isSafeInteger(number)) add(name, bucket, number);
      [name, bucket, number, isNegative] = [0, 0, 0, false];
    }
  }
  return { counts, waits, durations };
}
