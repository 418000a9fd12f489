import { connect } from 'node:net';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { runs } from '../../scripts/property-tests.js';
import { createDashboardHandler } from './index.js';
import { startTestHub } from './test-hub.fixture.js';
import { serve } from './test-server.fixture.js';

/** Sends bytes on a new connection and returns the status of the response. */
function statusOf(port: number, bytes: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', reject);
    socket.on('close', () => {
      const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(Buffer.concat(chunks).toString('latin1')) ?? [];
      resolve(Number(status));
    });
    socket.end(bytes);
  });
}

it('responds to any bytes in the request target', async () => {
  const { hub, lines } = await startTestHub();
  const server = await serve(createDashboardHandler(hub, { basePath: '/dash' }));
  const anyByte = fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes));
  const visible = fc
    .array(fc.oneof(fc.integer({ min: 0x21, max: 0xff }), fc.constantFrom(0x25, 0x2f, 0x3f)), { maxLength: 60 })
    .map((bytes) => Buffer.from(bytes));
  const start = fc.constantFrom(
    '',
    '/',
    '/dash',
    '/dash/',
    '/dash/api/events/',
    '/dash/api/introspection?',
    'http://a',
  );
  await fc.assert(
    fc.asyncProperty(start, fc.oneof(anyByte, visible), async (begin, rest) => {
      const head = Buffer.from(`GET ${begin}`);
      const tail = Buffer.from(' HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
      // 400 comes from the parser of node:http, before the handler.
      expect([200, 304, 400, 404, 405]).toContain(await statusOf(server.port, Buffer.concat([head, rest, tail])));
    }),
    { numRuns: runs(300) },
  );
  expect(lines).toEqual([]);
  expect((await server.get('/dash/')).status).toBe(200);
});
