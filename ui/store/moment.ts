/** Point in time on two clocks. */
export interface Moment {
  /** Milliseconds on the page's monotonic clock. */
  readonly at: number;
  /** Epoch milliseconds on the server's clock. */
  readonly serverNow: number;
}
