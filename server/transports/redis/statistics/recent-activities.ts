import { type ClosedMinutes, noActivity, RecentMinutes, trendMinutes } from '../../statistics/periods.js';
import type { RecentActivity } from '../../statistics/stats.js';
import {
  type CountSink,
  closedHead,
  endOfLine,
  kinds,
  minuteOfLine,
  periodOfLine,
  readClosedLine,
  readOpenLine,
  startOfTrend,
} from './stored-lines.js';

interface Known {
  readonly open: string;
  readonly read: ReadTrend;
  readonly activity: RecentActivity;
}

/**
 * Reads the recent activity of many types again and again. Texts that are as they were at the last read, at the same
 * place and in the same minute, are not parsed again: minutes that are over hardly ever change. It keeps at most 5 kB per
 * type of the last read.
 */
export class RecentActivities {
  #current = -1;
  #known: readonly (Known | undefined)[] = [];

  /**
   * Returns the activity of each type; the same object if nothing has changed.
   *
   * @param current the current minute, counted from the epoch
   * @param opens lines of minutes that are not in the history yet, per type
   * @param trends texts `trend`, per type
   */
  read(current: number, opens: readonly string[], trends: readonly string[]): readonly RecentActivity[] {
    // An overview of runs has no types.
    if (opens.length === 0) return [];
    const before = current === this.#current ? this.#known : [];
    const reader = new RecentReader(current);
    const known = opens.map((open, index) => readType(reader, open, trends[index] ?? '', before[index]));
    this.#current = current;
    this.#known = known;
    return known.map((each) => each?.activity ?? noActivity);
  }
}

function readType(reader: RecentReader, open: string, trend: string, last: Known | undefined): Known | undefined {
  if (open === '' && trend === '') return undefined;
  const isSame = last?.read.trend === trend;
  if (isSame && last.open === open) return last;
  const read = isSame ? last.read : reader.readTrend(trend);
  return { open, read, activity: reader.readOpen(open, read) };
}

const none = -1;

/** Text `trend` of a type, and the sums of its minutes as long as the current minute lasts. */
interface ReadTrend {
  readonly trend: string;
  /** Last minute of the trend that has a line. */
  readonly lastMinute: number;
  readonly closed: ClosedMinutes;
}

/** Reads the recent activity of many types, one after the other, without an object per minute. */
export class RecentReader implements CountSink {
  readonly #current: number;
  readonly #sums: RecentMinutes;
  // Place of the line of each minute. A later line of the same minute takes the place of an earlier one.
  readonly #starts = new Int32Array(trendMinutes);
  readonly #isOpen = new Uint8Array(trendMinutes);
  #received = 0;
  #completed = 0;
  #failed = 0;
  #cancelled = 0;
  #retried = 0;
  #readsDurations = false;

  /** @param current the current minute, counted from the epoch */
  constructor(current: number) {
    this.#current = current;
    this.#sums = new RecentMinutes(current);
  }

  /**
   * Returns the recent activity of a type.
   *
   * @param open lines of minutes that are not in the history yet
   * @param trend the text `trend` of the type, whose minutes an open line replaces
   */
  read(open: string, trend: string): RecentActivity {
    this.#starts.fill(none);
    this.#findClosedLines(trend);
    this.#findOpenLines(open);
    this.#addLines(open, trend);
    return this.#sums.take();
  }

  /** Returns the sums of the minutes of a `trend`. */
  readTrend(trend: string): ReadTrend {
    this.#starts.fill(none);
    this.#findClosedLines(trend);
    const last = this.#starts.findLastIndex((start) => start !== none);
    this.#addLines('', trend);
    return { trend, lastMinute: this.#sums.first + last, closed: this.#sums.takeClosed() };
  }

  /** Does the same as `read` with the `trend` that was read. */
  readOpen(open: string, { trend, lastMinute, closed }: ReadTrend): RecentActivity {
    this.#starts.fill(none);
    // A process that was late may have counted in a minute that is in the trend too.
    if (this.#findOpenLines(open) <= lastMinute) return this.read(open, trend);
    this.#sums.addClosed(closed);
    this.#addLines(open, trend);
    return this.#sums.take();
  }

  add(kind: number, bucket: number, count: number): void {
    switch (kind) {
      case kinds.received:
        this.#received += count;
        break;
      case kinds.completed:
        this.#completed += count;
        break;
      case kinds.failed:
        this.#failed += count;
        break;
      case kinds.cancelled:
        this.#cancelled += count;
        break;
      case kinds.retried:
        this.#retried += count;
        break;
      case kinds.wait:
        if (this.#readsDurations) this.#sums.waits.addBucket(bucket, count);
        break;
      case kinds.completedDuration:
        this.#completed += count;
        if (this.#readsDurations) this.#sums.durations.addBucket(bucket, count);
        break;
      case kinds.duration:
        if (this.#readsDurations) this.#sums.durations.addBucket(bucket, count);
        break;
    }
  }

  #findClosedLines(trend: string): void {
    for (let start = startOfTrend(trend, this.#current); start < trend.length; start = endOfLine(trend, start) + 1) {
      this.#note(periodOfLine(trend, start, this.#current), start + closedHead, 0);
    }
  }

  /** Returns the first minute of the trend that has a line; infinity if none has one. */
  #findOpenLines(open: string): number {
    let first = Number.POSITIVE_INFINITY;
    for (let start = 0; start < open.length; ) {
      const end = endOfLine(open, start);
      const minute = minuteOfLine(open, start, end);
      if (minute >= this.#sums.first && minute < first) first = minute;
      this.#note(minute, start, 1);
      start = end + 1;
    }
    return first;
  }

  #addLines(open: string, trend: string): void {
    for (let index = 0; index < trendMinutes; index += 1) {
      const start = this.#starts[index] ?? none;
      if (start === none) continue;
      this.#addLine(this.#sums.first + index, this.#isOpen[index] === 1 ? open : trend, start, index);
    }
  }

  #note(minute: number, start: number, isOpen: 0 | 1): void {
    const index = minute - this.#sums.first;
    if (index < 0 || index >= trendMinutes) return;
    this.#starts[index] = start;
    this.#isOpen[index] = isOpen;
  }

  #addLine(minute: number, text: string, start: number, index: number): void {
    this.#received = 0;
    this.#completed = 0;
    this.#failed = 0;
    this.#cancelled = 0;
    this.#retried = 0;
    this.#readsDurations = minute >= this.#sums.firstWithDurations;
    const end = endOfLine(text, start);
    if (this.#isOpen[index] === 1) readOpenLine(text, start, end, this);
    else readClosedLine(text, start, end, this);
    this.#sums.addCounts(minute, this.#received, this.#completed, this.#failed, this.#cancelled, this.#retried);
  }
}
