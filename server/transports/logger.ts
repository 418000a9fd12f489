/** The part of pino's interface that Hubline uses; any logger of that shape will do. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** A logger that adds `fields` to every line. Where absent, the logger itself is used. */
  child?(fields: object): Logger;
}

const nothing = (): void => {};

/** Logs nothing. */
export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };
