import type { Logger } from '../transports/logger.js';

/** Wraps a logger: if it throws, the error becomes a process warning and no event fails. */
export function guardLogger(logger: Logger): Logger {
  const guarded =
    (level: Exclude<keyof Logger, 'child'>) =>
    (fields: object, message: string): void => {
      try {
        logger[level](fields, message);
      } catch (error) {
        process.emitWarning(`the hub's logger threw at "${message}": ${String(error)}`);
      }
    };
  return {
    debug: guarded('debug'),
    info: guarded('info'),
    warn: guarded('warn'),
    error: guarded('error'),
    ...(logger.child !== undefined && {
      child: (fields: object) => {
        try {
          return guardLogger(logger.child?.(fields) ?? logger);
        } catch (error) {
          process.emitWarning(`child of the hub's logger threw: ${String(error)}`);
          return guardLogger(logger);
        }
      },
    }),
  };
}
