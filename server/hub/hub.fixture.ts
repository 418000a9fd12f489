import { onTestFinished } from 'vitest';
import { createFakeClock, type FakeClock } from '../testing/fake-clock.js';
import { memoryTransport } from '../transports/memory/memory-transport.js';
import type { Logger, Transport } from '../transports/transport.js';
import { createHub } from './create-hub.js';
import type { Hub } from './hub.js';
import type { HubOptions } from './hub-options.js';

/** Line in the log of a {@link TestHub}. */
export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly fields: Record<string, unknown>;
  readonly message: string;
}

/** Hub with a fake clock and a recorded log. */
export interface TestHub {
  readonly hub: Hub;
  readonly clock: FakeClock;
  readonly transport: Transport;
  readonly log: LogLine[];
}

/** Creates a hub for one test and stops it when the test ends. */
export function testHub(options: HubOptions & { maxPending?: number } = {}): TestHub {
  const { maxPending = 1_000_000, ...hubOptions } = options;
  const clock = createFakeClock();
  const transport = options.transport ?? memoryTransport({ clock, maxPending });
  const log: LogLine[] = [];
  const hub = createHub({ transport, logger: recordingLogger(log), ...hubOptions });
  onTestFinished(async () => {
    await hub.stop({ drainMs: 0 });
  });
  return { hub, clock, transport, log };
}

function recordingLogger(log: LogLine[], bound: object = {}): Logger {
  const at =
    (level: LogLine['level']) =>
    (fields: object, message: string): void => {
      log.push({ level, fields: { ...bound, ...fields }, message });
    };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => recordingLogger(log, { ...bound, ...fields }),
  };
}

/** Creates a promise with functions that settle it. */
export function deferred<T = void>(): { promise: Promise<T>; resolve(value: T): void; reject(error: unknown): void } {
  let settle: { resolve(value: T): void; reject(error: unknown): void } | undefined;
  const promise = new Promise<T>((resolve, reject) => {
    settle = { resolve, reject };
  });
  return {
    promise,
    resolve: (value) => settle?.resolve(value),
    reject: (error) => settle?.reject(error),
  };
}
