import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { connect, Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { deferred } from '../hub/hub.fixture.js';
import { createDashboardHandler } from './index.js';
import { startTestHub } from './test-hub.fixture.js';
import { serve } from './test-server.fixture.js';

describe('broken connections and responses', () => {
  it('serves the next client after one that disconnected before its response', async () => {
    const connected = deferred();
    const allowed = deferred<boolean>();
    const disconnected = deferred();
    const { hub, lines } = await startTestHub();
    const handler = createDashboardHandler(hub, {
      authorize: (req) => {
        if (req.url !== '/api/introspection') return true;
        req.socket.once('close', () => disconnected.resolve());
        connected.resolve();
        return allowed.promise;
      },
    });
    const server = await serve(handler);
    const socket = connect(server.port, '127.0.0.1');
    socket.write('GET /api/introspection HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await connected.promise;
    socket.destroy();
    await disconnected.promise;
    allowed.resolve(true);
    expect((await server.get('/')).status).toBe(200);
    expect(lines).toEqual([]);
  });

  it('serves other clients after one that disconnected during its response', async () => {
    const { hub, lines } = await startTestHub(Array.from({ length: 20_000 }, (_, index) => `type.${index}`));
    const server = await serve(createDashboardHandler(hub));
    const socket = connect(server.port, '127.0.0.1');
    socket.write('GET /api/introspection HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(socket, 'data');
    socket.destroy();
    expect((await server.get('/')).status).toBe(200);
    expect(lines).toEqual([]);
  });

  it('leaves a response alone that has ended already', async () => {
    const { hub, lines } = await startTestHub();
    const handler = createDashboardHandler(hub);
    const server = await serve((req, res) => {
      res.end('mine');
      handler(req, res);
    });
    for (const path of ['/', '/api/introspection']) expect((await server.get(path)).body.toString()).toBe('mine');
    expect(lines).toEqual([]);
  });

  it('destroys a response whose patched methods throw', async () => {
    const { hub, lines } = await startTestHub();
    const handler = createDashboardHandler(hub);
    const server = await serve((req, res) => {
      res.setHeader = () => {
        throw new Error('hook');
      };
      handler(req, res);
    });
    for (const path of ['/', '/api/introspection']) await expect(server.get(path)).rejects.toThrow('socket hang up');
    // One line per minute and reason.
    expect(lines).toMatchObject([{ fields: { err: { message: 'hook' }, count: 1 } }]);
  });

  it('responds with 404 to a request without a target', async () => {
    const { hub } = await startTestHub();
    const handler = createDashboardHandler(hub);
    const req = new IncomingMessage(new Socket());
    const res = new ServerResponse(req);
    req.method = 'GET';
    delete req.url;
    handler(req, res);
    expect(res.statusCode).toBe(404);
  });

  it('does not crash the server if the logger throws', async () => {
    const { hub } = await startTestHub();
    hub.logger.error = () => {
      throw new Error('disk full');
    };
    const server = await serve(
      createDashboardHandler(hub, {
        authorize: () => {
          throw new Error('secret');
        },
      }),
    );
    expect((await server.get('/')).status).toBe(500);
  });
});
