/**
 * Subset of pino's interface that Hubline uses; any logger with these methods works. `fields` identify the subject of
 * the message, such as `eventType`, `eventId`, `attempt` and, for a failure, `err`.
 */
export interface Logger {
  /** Logs details for diagnosis. */
  debug(fields: object, message: string): void;
  /** Logs rare, expected changes, such as a start or a reconnection. */
  info(fields: object, message: string): void;
  /** Logs possible problems, such as a failed attempt that is retried or an unsafe setting. */
  warn(fields: object, message: string): void;
  /** Logs terminal failures, and errors that no caller receives. */
  error(fields: object, message: string): void;
  /** Returns a logger that adds `fields` to every line. If absent, Hubline uses the logger itself. */
  child?(fields: object): Logger;
}

const nothing = (): void => {};

/** Logger without output. */
export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };
