import assert from 'node:assert';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { readFile, readFileSync } from 'node:fs';
import { readFile as readFileAsync } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { parseArgs, promisify } from 'node:util';
import { createOpenAI } from '@ai-sdk/openai';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { CallToolRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { DatabaseSync } from '@photostructure/sqlite';
import { generateText } from 'ai';
import { Ajv } from 'ajv';
import { Command } from 'commander';
import { Cron } from 'croner';
import express, { type ErrorRequestHandler } from 'express';
import fastify from 'fastify';
import helmet from 'helmet';
import { Hono } from 'hono';
import yaml from 'yaml';
import { z } from 'zod';

/** Function that throws, or rejects with, an error of other software. The error contains the secret. */
export type Failure = () => unknown;

/** Errors of Node itself. */
export function nodeFailures(secret: string): Readonly<Record<string, Failure>> {
  const script = ['-e', 'console.error(process.argv[1]); process.exit(2)', secret];
  return {
    'fetch, header': () => fetch('http://127.0.0.1:1', { headers: { authorization: `Bearer\n${secret}` } }),
    'fetch, URL': () => fetch(secret),
    'fetch, refused': () => fetch(`http://user:${secret.replace('@', '.')}@127.0.0.1:1/${secret}`),
    Headers: () => new Headers({ [`${secret} x`]: '1' }),
    execFile: () => promisify(execFile)(process.execPath, script),
    'execFile, callback': () =>
      new Promise((_, reject) => {
        execFile(process.execPath, script, reject);
      }),
    execFileSync: () => execFileSync(process.execPath, script, { stdio: 'pipe' }),
    spawn: () =>
      new Promise((_, reject) => {
        spawn(secret).on('error', reject);
      }),
    'assert.strictEqual': () => assert.strictEqual(secret, 'x'),
    'assert.deepEqual': () => assert.deepEqual({ secret }, {}),
    'assert.match': () => assert.match(secret, /^x$/),
    'assert.doesNotThrow': () =>
      assert.doesNotThrow(() => {
        throw new Error(secret);
      }, 'no error'),
    'assert.ifError': () => assert.ifError(new Error(secret)),
    URL: () => new URL(secret),
    'JSON.parse': () => JSON.parse(secret),
    BigInt: () => BigInt(secret),
    'Intl.NumberFormat': () => new Intl.NumberFormat('en', { style: 'currency', currency: secret }),
    'Intl.DateTimeFormat': () => new Intl.DateTimeFormat('en', { timeZone: secret }),
    RegExp: () => new RegExp(`(${secret}`),
    'fs, promise': () => readFileAsync(`/${secret}`),
    'fs, callback': () =>
      new Promise((_, reject) => {
        readFile(`/${secret}`, reject);
      }),
    'fs, synchronous': () => readFileSync(`/${secret}`),
    structuredClone: () => structuredClone(Symbol(secret)),
    parseArgs: () => parseArgs({ args: [`--${secret}`] }),
    EventEmitter: () => new EventEmitter().emit('error', secret),
    'net.connect': () => connect({ port: secret as never }),
    'Array.prototype': () => [secret].map(secret as never),
    import: () => import(/* @vite-ignore */ `/${secret}.mjs`),
    dlopen: () => process.dlopen({ exports: {} }, `/${secret}.node`),
  };
}

/** Errors of clients, parsers, validators and frameworks, as the installed packages throw them. */
export function packageFailures(secret: string): Readonly<Record<string, Failure>> {
  return {
    zod: () => z.strictObject({ a: z.string() }).parse({ [secret]: secret }),
    'zod, JSON Schema': () => z.fromJSONSchema({ type: secret } as never),
    'ajv, pattern': () => new Ajv({ logger: false }).compile({ type: 'string', pattern: `(${secret}` }),
    'ajv, reference': () => new Ajv({ logger: false }).compile({ $ref: secret }),
    'ajv, asynchronous': () => new Ajv({ logger: false }).compile({ $async: true, required: [secret] })({}),
    croner: () => new Cron(secret),
    commander: () => {
      new Command()
        .exitOverride()
        .configureOutput({ writeErr: () => {} })
        .parse(['node', 'program', `--${secret}`]);
    },
    yaml: () => yaml.parse(`a: {${secret}`),
    'fastify, route': () => {
      const app = fastify();
      for (let count = 0; count < 2; count += 1) app.get(`/${secret}`, () => null);
    },
    'fastify, validation': async () => {
      const app = fastify();
      const thrown = new Promise((_, reject) => {
        app.setErrorHandler((error, _request, reply) => {
          reject(error);
          return reply.send('');
        });
      });
      app.post('/', { schema: { body: { type: 'object', required: [secret] } } }, () => null);
      await Promise.all([thrown, app.inject({ method: 'POST', url: '/', payload: {} })]);
    },
    'express, body': async () => {
      let thrown: unknown;
      // Express finds handlers of errors by their four parameters.
      const keepError: ErrorRequestHandler = (error, _request, response, _next) => {
        thrown = error;
        response.end();
      };
      const app = express().use(express.json()).use(keepError);
      await withServer(app, (url) => fetch(url, { ...post(secret), headers: { 'content-type': 'application/json' } }));
      throw thrown;
    },
    'express, path': () => express().get(`/(${secret}`, () => {}),
    helmet: () => helmet({ contentSecurityPolicy: { directives: { [`${secret} x`]: ['1'] } } }),
    hono: async () => {
      let thrown: unknown;
      const app = new Hono().post('/', async (context) => context.json(await context.req.json()));
      app.onError((error, context) => {
        thrown = error;
        return context.text('');
      });
      await app.request('/', post(secret));
      throw thrown;
    },
    'AI SDK': () =>
      refusing(secret, (baseURL) =>
        generateText({ model: createOpenAI({ apiKey: secret, baseURL })('gpt'), prompt: secret, maxRetries: 0 }),
      ),
    'MCP, connection': () =>
      refusing(secret, (url) =>
        new Client({ name: 'a', version: '1' }).connect(new StreamableHTTPClientTransport(new URL(url)) as never),
      ),
    'MCP, tool': async () => {
      const [near, far] = InMemoryTransport.createLinkedPair();
      const server = new Server({ name: 's', version: '1' }, { capabilities: { tools: {} } });
      server.setRequestHandler(CallToolRequestSchema, () => {
        throw new Error(secret);
      });
      await server.connect(far);
      const client = new Client({ name: 'a', version: '1' });
      await client.connect(near);
      await client.callTool({ name: secret });
    },
    SQLite: () => new DatabaseSync(':memory:').exec(`SELECT '${secret}`),
  };
}

function post(body: string): { method: string; body: string } {
  return { method: 'POST', body };
}

/** Calls a client of a server that answers 400 and the secret. */
function refusing(secret: string, call: (url: string) => Promise<unknown>): Promise<unknown> {
  const body = JSON.stringify({ error: { message: secret } });
  return withServer((_, response) => void response.writeHead(400).end(body), call);
}

type Listener = Parameters<typeof createServer>[1];

async function withServer(listener: Listener, call: (url: string) => Promise<unknown>): Promise<unknown> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  try {
    await once(server, 'listening');
    // A server that listens on a port has an address of this form.
    return await call(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

/** Errors of clients that are not installed: name, message and fields as their packages set them. */
const absentPackages: Readonly<Record<string, (secret: string) => { name: string; fields?: object }>> = {
  axios: (secret) => ({ name: 'AxiosError', fields: { config: { url: secret }, code: 'ERR_BAD_REQUEST' } }),
  got: (secret) => ({ name: 'HTTPError', fields: { options: { url: secret }, code: 'ERR_NON_2XX_3XX_RESPONSE' } }),
  'node-fetch': () => ({ name: 'FetchError' }),
  undici: () => ({ name: 'UndiciError' }),
  pg: (secret) => ({ name: 'error', fields: { severity: 'ERROR', detail: secret, code: '23505' } }),
  mysql2: (secret) => ({ name: 'Error', fields: { sqlMessage: secret, sqlState: '23000', code: 'ER_DUP_ENTRY' } }),
  mongodb: (secret) => ({ name: 'MongoServerError', fields: { errmsg: secret, code: 11_000 } }),
  ioredis: (secret) => ({ name: 'ReplyError', fields: { command: { name: 'auth', args: [secret] } } }),
  nodemailer: (secret) => ({ name: 'Error', fields: { response: secret, responseCode: 535, code: 'EAUTH' } }),
  '@aws-sdk/client-s3': () => ({ name: 'NoSuchKey', fields: { $metadata: { httpStatusCode: 404 } } }),
  superstruct: (secret) => ({ name: 'StructError', fields: { value: secret, failures: () => [] } }),
  joi: (secret) => ({ name: 'ValidationError', fields: { details: [{ message: secret, path: ['a'] }] } }),
};

/** Errors of packages that are not installed, as they arrive from a package and from a bundle. */
export function absentFailures(secret: string): Readonly<Record<string, Failure>> {
  const failures = Object.entries(absentPackages).flatMap(([name, formOf]): [string, Failure][] => {
    const throwFrom = (file: string) => (): never => {
      const { fields, name: errorName } = formOf(secret);
      const error = Object.assign(new Error(`failed for ${secret}`), fields, { name: errorName });
      error.stack = `${errorName}: ${error.message}\n    at send (${file}:1:2)\n    at handler (/app/main.js:3:4)`;
      throw error;
    };
    return [
      [`${name}, as a package`, throwFrom(`/app/node_modules/${name}/index.js`)],
      [`${name}, in a bundle`, throwFrom('/app/main.js')],
    ];
  });
  return Object.fromEntries(failures);
}
