import { onTestFinished } from 'vitest';
import { createHub } from '../hub/create-hub.js';
import type { Hub } from '../hub/hub.js';
import type { HubOptions } from '../hub/hub-options.js';
import { createWorkflow } from '../hub/runs/workflow.js';
import { createFakeClock, type FakeClock } from '../testing/fake-clock.js';
import { memoryTransport } from '../transports/memory/memory-transport.js';
import type { Logger } from '../transports/transport.js';

/** Names that break code that builds paths, markup or objects from them. */
export const hostileTypes: readonly string[] = [
  'a/b',
  '/',
  '50%',
  '%2F',
  '__proto__',
  'constructor',
  '日本',
  '🙂',
  'a?b#c',
  'a b+c',
  '../..',
  'x'.repeat(300),
  '<img src=x onerror=alert(1)>',
];

/** Logged line. */
export interface LoggedLine {
  readonly level: keyof Omit<Logger, 'child'>;
  readonly fields: object;
  readonly message: string;
}

/** Running hub on a fake clock, with the lines that it logged. */
export interface TestHub {
  readonly hub: Hub;
  readonly clock: FakeClock;
  readonly lines: LoggedLine[];
}

/**
 * Starts a hub with `order.created`, which succeeds, with `order.refused` and the workflow `refund`, which fail with a
 * secret in their messages, and with the hostile types. The hub stops when the test ends.
 */
export async function startTestHub(
  types: readonly string[] = hostileTypes,
  options: HubOptions = {},
  register: (hub: Hub) => unknown = () => undefined,
): Promise<TestHub> {
  const lines: LoggedLine[] = [];
  const log =
    (level: LoggedLine['level']) =>
    (fields: object, message: string): void => {
      lines.push({ level, fields, message });
    };
  const logger: Logger = { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') };
  const clock = createFakeClock();
  const hub = createHub({ service: 'shop', logger, transport: memoryTransport({ clock }), ...options });
  hub.event({ type: 'order.created', description: 'An order came in', handler: () => undefined });
  const refuse = (): never => {
    throw new RangeError('card 4242 was refused');
  };
  hub.event({ type: 'order.refused', handler: refuse });
  hub.workflow(createWorkflow({ name: 'refund', steps: [{ name: 'pay back', handler: refuse }] }));
  for (const type of types) hub.event({ type, handler: () => undefined });
  register(hub);
  await hub.start();
  onTestFinished(async () => {
    await hub.stop({ drainMs: 0 });
  });
  return { hub, clock, lines };
}
