import type { RequestListener } from 'node:http';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import Koa from 'koa';
import type { DashboardHandler } from './create-dashboard-handler.js';

/** Path at which the dashboard is mounted, which is also the `basePath` of its handler. */
export type Mount = '/' | '/ops/hub';

/** Ways to serve the dashboard, each as a request listener for a `node:http` server. */
export const frameworks: Readonly<
  Record<string, (handler: DashboardHandler, mount: Mount) => RequestListener | Promise<RequestListener>>
> = {
  'node:http': (handler) => handler,

  'Express 5': (handler, mount) => express().use(mount, handler),

  async 'Fastify 5'(handler, mount) {
    const app = fastify();
    for (const path of mount === '/' ? ['/*'] : [mount, `${mount}/*`]) {
      app.all(path, (req, reply) => {
        reply.hijack();
        handler(req.raw, reply.raw);
      });
    }
    await app.ready();
    return (req, res) => app.routing(req, res);
  },

  Hono(handler, mount) {
    const app = new Hono<{ Bindings: HttpBindings }>();
    app.all(mount === '/' ? '/*' : `${mount}/*`, (c) => {
      handler(c.env.incoming, c.env.outgoing);
      return RESPONSE_ALREADY_SENT;
    });
    return getRequestListener(app.fetch);
  },

  Koa(handler) {
    const app = new Koa();
    app.use((ctx) => {
      ctx.respond = false;
      handler(ctx.req, ctx.res);
    });
    return app.callback();
  },
};
