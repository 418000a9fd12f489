import type { Envelope } from './envelope.js';

/** State of a schedule of one service. */
export interface ScheduleRecord {
  readonly service: string;
  readonly name: string;
  /** Digest of the definition that holds: the one that was opened last. */
  readonly definition: string;
  /** Times of that definition, as text. */
  readonly times: string;
  /** Epoch milliseconds after which due times are to be claimed: the last claimed due time, or the start of the schedule. */
  readonly position: number;
  /** Last claimed due time in epoch milliseconds; `undefined` if none was claimed. */
  readonly lastDue: number | undefined;
  /** An open connection has the schedule. */
  readonly isOpen: boolean;
  /** A connection with other schedules was opened since the last one with this schedule. */
  readonly isRemoved: boolean;
  /** Changes whenever the record does. */
  readonly revision: number;
}

/** A schedule that a connection opens. */
export interface ScheduleOpening extends Pick<ScheduleRecord, 'name' | 'definition' | 'times' | 'position'> {
  /** Revision of the record that the opening was computed from; `undefined` if there was no record. */
  readonly revision: number | undefined;
}

/** A due time that a connection claims. */
export interface ScheduleClaim extends Pick<ScheduleRecord, 'name' | 'definition' | 'times'> {
  /** Epoch milliseconds. */
  readonly dueAt: number;
  /** Events of the due time, accepted with the claim. */
  readonly events: readonly Envelope[];
}

/** Result of a {@link ScheduleClaim}. Only `claimed` changes state. */
export type ClaimResult =
  | { readonly status: 'claimed' }
  /** The due time is not after `position`. */
  | { readonly status: 'already'; readonly position: number }
  /** Another definition holds, and an open connection has it. */
  | { readonly status: 'replaced' }
  /** The due time is so many milliseconds ahead of the transport's clock. */
  | { readonly status: 'early'; readonly earlyMs: number };

/** Schedules of the service of a connection. */
export interface ScheduleStore {
  /** Returns the schedules of all services. */
  schedules(): Promise<readonly ScheduleRecord[]>;
  /**
   * Adds this connection to all schedules in one step, sets their definitions and positions, and marks the other
   * schedules of the service as removed; without openings it does nothing. Changes nothing and returns `false` if a
   * record has another revision than its opening. The schedules stay open until the connection closes or dies.
   */
  openSchedules(openings: readonly ScheduleOpening[]): Promise<boolean>;
  /**
   * Records a due time as the position of the schedule and accepts its events in one step. A definition without an open
   * connection gives way to the one of the claim. A schedule without a record gets one.
   *
   * @throws {BackpressureError} if the events exceed a limit of the transport; nothing changes
   */
  claim(claim: ScheduleClaim): Promise<ClaimResult>;
}
