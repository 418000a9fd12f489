/**
 * The part of pino's interface that Hubline uses; any logger of that shape will do. `fields` are those that the
 * message is about, such as `eventType`, `eventId`, `attempt` and, of a failure, `err`.
 */
export interface Logger {
  /** What explains how something came about. */
  debug(fields: object, message: string): void;
  /** What happens seldom and as it should. */
  info(fields: object, message: string): void;
  /** What may need a look: an attempt that failed and is made again, a setting that is unsafe. */
  warn(fields: object, message: string): void;
  /** What failed for good, or reaches no caller. */
  error(fields: object, message: string): void;
  /** A logger that adds `fields` to every line. Where absent, the logger itself is used. */
  child?(fields: object): Logger;
}

const nothing = (): void => {};

/** Logs nothing. */
export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };
