import { periodKinds } from '../../statistics/periods.js';

/**
 * Scanners of the texts that count-records.lua and period-roll.lua describe. They read characters in place: the last minutes of
 * a thousand types are 20,000 lines, and a string per line, kind and count would take longer than all else.
 *
 * @module
 */

const { minutes, hours } = periodKinds;
/** Number of minutes after which a `trend` is no longer read. */
export const weekMinutes: number = (hours.length * hours.stepMs) / minutes.stepMs;

/**
 * Number of periods after which their numbers repeat in a line, which are 3 digits of base 36: 32 days of minutes. Histories
 * expire after a week, and so does a `trend`.
 */
export const periodCycle: number = 36 ** 3;

/** Difference between the bucket of a percentile in a line, where 0 is none, and the bucket. */
export const bucketOffset = 200;

/** Receives the counts of a line. `kind` is the code of its letter; `bucket` is 0 for a kind without buckets. */
export interface CountSink {
  add(kind: number, bucket: number, count: number): void;
}

/** Codes of the letters of the counts. */
export const kinds = {
  received: 114,
  completed: 99,
  failed: 102,
  cancelled: 120,
  retried: 116,
  wait: 119,
  completedDuration: 101,
  duration: 100,
} as const;

const space = 32;
const minus = 45;
const zero = 48;
const nine = 57;
const equals = 61;
const capitalA = 65;
const capitalZ = 90;
// Names are small letters, which come after capital ones and digits.
const firstKind = 97;

const periodDigits = 3;
/** Length of the period and the percentiles of a closed line. */
export const closedHead: number = periodDigits + 4;

/** Returns the end of the line that begins at `start`. */
export function endOfLine(text: string, start: number): number {
  const end = text.indexOf('\n', start);
  return end === -1 ? text.length : end;
}

/** Returns the start of the lines after the first one of a `trend`; its length if they are too old to be read. */
export function startOfTrend(trend: string, minute: number): number {
  const end = trend.indexOf('\n');
  return end === -1 || minute - readDecimal(trend, 0, end) > weekMinutes ? trend.length : end + 1;
}

/** Returns the number of the period of a closed line. @param last number of the current period */
export function periodOfLine(text: string, start: number, last: number): number {
  return last - ((last - read36(text, start, start + periodDigits) + periodCycle) % periodCycle);
}

/** Returns the minute of an open line. */
export function minuteOfLine(text: string, start: number, end: number): number {
  return readDecimal(text, start, end);
}

/** Reads the counts of a line of `minutes`: `29922560 r=2 w31=2 e-21=1`. What is not a number counts as 0. */
export function readOpenLine(text: string, start: number, end: number, sink: CountSink): void {
  let kind = 0;
  let bucket = 0;
  let number = 0;
  let isNegative = false;
  for (let at = start; at < end; at += 1) {
    const code = text.charCodeAt(at);
    if (code >= zero && code <= nine) number = number * 10 + code - zero;
    else if (code >= firstKind) kind = code;
    else if (code === minus) isNegative = true;
    else if (code === equals) {
      bucket = isNegative ? -number : number;
      number = 0;
      isNegative = false;
    } else if (code === space) {
      // The first number is the minute.
      if (kind !== 0) sink.add(kind, bucket, number);
      kind = 0;
      number = 0;
    }
  }
  if (kind !== 0) sink.add(kind, bucket, number);
}

/**
 * Reads the counts of a line that `rollMinutes` has written: of a kind, `r1C`, or of neighbouring buckets, `w-3=8C==5`.
 *
 * @param start after the period and the percentiles
 */
export function readClosedLine(text: string, start: number, end: number, sink: CountSink): void {
  let kind = 0;
  let bucket = 0;
  let isBucket = false;
  // The digits since the last sign, as a decimal number and as one of base 36.
  let decimal = 0;
  let number = 0;
  let isNegative = false;
  for (let at = start; at < end; at += 1) {
    const code = text.charCodeAt(at);
    if (code >= firstKind) {
      if (kind !== 0 && number > 0) sink.add(kind, bucket, number);
      kind = code;
      bucket = 0;
      isBucket = false;
      decimal = 0;
      number = 0;
      isNegative = false;
    } else if (code === equals) {
      if (!isBucket) {
        bucket = isNegative ? -decimal : decimal;
        isBucket = true;
      } else {
        if (number > 0) sink.add(kind, bucket, number);
        bucket += 1;
      }
      number = 0;
    } else if (code === minus) isNegative = true;
    else {
      const digit = digit36(code);
      decimal = decimal * 10 + digit;
      number = number * 36 + digit;
    }
  }
  if (kind !== 0 && number > 0) sink.add(kind, bucket, number);
}

/** Returns the number of digits up to `end`. What is not a digit counts as 0. */
export function read36(text: string, start: number, end: number): number {
  let number = 0;
  for (let at = start; at < end; at += 1) number = number * 36 + digit36(text.charCodeAt(at));
  return number;
}

/** Reads decimal numbers between single spaces. What is not a number counts as 0. */
export function readNumbers(text: string, into: Float64Array): void {
  let index = 0;
  let number = 0;
  for (let at = 0; at < text.length && index < into.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code >= zero && code <= nine) number = number * 10 + code - zero;
    else if (code === space) {
      into[index] = number;
      index += 1;
      number = 0;
    }
  }
  for (; index < into.length; index += 1) {
    into[index] = number;
    number = 0;
  }
}

function readDecimal(text: string, start: number, end: number): number {
  let number = 0;
  for (let at = start; at < end; at += 1) {
    const code = text.charCodeAt(at);
    if (code < zero || code > nine) break;
    number = number * 10 + code - zero;
  }
  return number;
}

function digit36(code: number): number {
  if (code >= zero && code <= nine) return code - zero;
  return code >= capitalA && code <= capitalZ ? code - capitalA + 10 : 0;
}
