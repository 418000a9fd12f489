import { inspect } from 'node:util';
import fastify from 'fastify';
import { createDashboardHandler } from './dashboard/index.js';
import { serve } from './dashboard/test-server.fixture.js';
import type { Hub } from './hub/hub.js';
import type { Logger } from './transports/transport.js';

/** Stands wherever a secret can stand. It must not leave the process. */
export const canary = 'canary-7f3a@example.com';

/** Logs through pino, as JSON, and as a console prints it. */
export function recordingLogger(): { logger: Logger; text: () => string } {
  const lines: string[] = [];
  const pino = fastify({ logger: { level: 'trace', stream: { write: (line: string) => void lines.push(line) } } }).log;
  const at =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (fields: object, message: string): void => {
      pino[level](fields, message);
      lines.push(inspect(fields, { depth: 20, showHidden: true }), message);
    };
  const logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  return { logger, text: () => lines.join('\n') };
}

/**
 * Returns all that the dashboard serves, and the messages of the dead letters. A snapshot of the page is made of these
 * bodies alone.
 */
export async function shownBy(hub: Hub): Promise<string> {
  const dashboard = await serve(createDashboardHandler(hub));
  const body = async (path: string): Promise<string> => (await dashboard.get(path)).body.toString();
  const now = Date.now();
  const parts = [
    await body('/api/introspection'),
    await body('/api/introspection?events=columns'),
    await body(`/api/introspection?from=${now - 60_000}&to=${now}`),
  ];
  const { events, workflows } = await hub.introspect();
  for (const type of [...events.map((event) => event.type), ...workflows.map(({ name }) => name)]) {
    parts.push(await body(`/api/events/${encodeURIComponent(type)}`));
    for (const { id, requestId } of (await hub.getRecent(type)).newest) {
      parts.push(await body(`/api/introspection?id=${id}`), await body(`/api/introspection?request=${requestId}`));
    }
    const deadLetters = await hub.deadLetters(type);
    parts.push(JSON.stringify(deadLetters.map(({ name, message }) => [name, message])));
  }
  return parts.join('\n');
}
