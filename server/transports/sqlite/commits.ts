/** Stored event that cannot be used. */
export interface DamagedEvent {
  readonly service: string;
  readonly eventType: string;
  /** Number of its row. */
  readonly position: number | undefined;
}

/** Applies changes to the state in memory and to the file. */
export interface Commits {
  /** The file has the state in memory. */
  readonly isStored: boolean;
  /**
   * Applies a change to the state in memory, and rejects if it cannot be stored now.
   *
   * @param bytes size of the payloads that the change holds until it is applied
   * @throws {TransportUnavailableError | BackpressureError} as a rejection
   */
  change<T>(apply: () => T, bytes?: number): Promise<T>;
  /** Applies a change to the state in memory, as soon as it can be stored. */
  settle<T>(apply: () => T): Promise<T>;
  /**
   * Applies a change that no caller waits for, as soon as it can be stored, and calls `stored` then. The change is lost
   * if the process ends before.
   */
  settleLater(apply: () => void, stored?: () => void): void;
  /** Applies a change to the database alone. @param bytes size of the values that the change holds until then */
  write<T>(apply: () => T, bytes?: number): Promise<T>;
  /** Calls `fn` when the changes that are applied now are stored. */
  afterStored(fn: () => void): void;
  /** Halts everything for a time that grows until {@link resume}, because a read of `reader` failed. */
  suspend(reader: object, error: unknown): void;
  /** Reports that a read of `reader` succeeded. */
  resume(reader: object): void;
  /** Reports a stored event that cannot be used. */
  reportDamage(event: DamagedEvent): void;
  /** Returns the error for a caller whose read failed. */
  unreadable(error: unknown): Error;
}

/** State that a {@link Commits} writes. */
export interface CommittedState {
  /** Number of rows to write, by their size. */
  readonly rows: number;
  /** Writes what changed, in the open transaction. */
  write(): void;
  /** Called after the transaction is committed. */
  markWritten(): void;
}
