import { createRedactor, type Redactor } from '../redaction.js';
import type { Logger } from '../transports/transport.js';

/**
 * Wraps a logger. Errors among the fields are redacted. If the logger throws, the error becomes a process warning and no
 * event fails.
 */
export function guardLogger(logger: Logger, redactor: Redactor = createRedactor()): Logger {
  const guarded =
    (level: Exclude<keyof Logger, 'child'>) =>
    (fields: object, message: string): void => {
      try {
        logger[level](redactErrors(fields, redactor), message);
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
          return guardLogger(logger.child?.(redactErrors(fields, redactor)) ?? logger, redactor);
        } catch (error) {
          process.emitWarning(`child of the hub's logger threw: ${String(error)}`);
          return guardLogger(logger, redactor);
        }
      },
    }),
  };
}

function redactErrors(fields: object, redactor: Redactor): object {
  const entries = Object.entries(fields);
  if (!entries.some(([name, value]) => isError(name, value))) return fields;
  return Object.fromEntries(
    entries.map(([name, value]) => [name, isError(name, value) ? redactor.loggable(value) : value]),
  );
}

function isError(name: string, value: unknown): boolean {
  return name === 'err' || value instanceof Error;
}
