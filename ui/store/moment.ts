/** One moment on two clocks. */
export interface Moment {
  /** Milliseconds on the page's monotonic clock. */
  readonly at: number;
  /** Epoch milliseconds on the server's clock. */
  readonly serverNow: number;
}

/** When an answer was read, and after what. */
export interface Reading extends Moment {
  /** The hub began to count anew since the last answer. */
  readonly hubRestarted: boolean;
}
