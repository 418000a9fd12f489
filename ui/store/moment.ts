/** Point in time on two clocks. */
export interface Moment {
  /** Milliseconds on the page's monotonic clock. */
  readonly at: number;
  /** Epoch milliseconds on the server's clock. */
  readonly serverNow: number;
}

/** Time at which a response was read. */
export interface Reading extends Moment {
  /** True if the hub's counters restarted since the previous response. */
  readonly hubRestarted: boolean;
}
