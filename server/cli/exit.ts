/** Exit codes of the command line. */
export const exitCodes = {
  /** The store cannot be read, or an action failed. */
  failed: 1,
  /** Wrong arguments, or a confirmation that nobody gave. */
  usage: 2,
  /** Nothing was found. */
  notFound: 3,
  /** `status` found a failing hub. */
  unhealthy: 4,
} as const;

/** Ends a command with an exit code, and a message on the standard error. */
export class ExitError extends Error {
  readonly exitCode: number;

  constructor(exitCode: number, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}
