import type { IncomingMessage } from 'node:http';
import { authorityOf, type DashboardHandler, targetsOf } from './create-dashboard-handler.js';
import { InvalidRequestError } from './json-result.js';
import type { DashboardResponse } from './response.js';

/** Bounds of a body, and the code of the errors about it. */
interface BodyRules {
  readonly maxBytes: number;
  readonly code: string;
}

/** Body of a request. */
export interface ReceivedBody {
  /** Bytes as they arrived; `undefined` if a framework has parsed them and kept no copy. */
  readonly raw: Buffer | undefined;
  /** Returns the parsed JSON. @throws {InvalidRequestError} */
  json(): unknown;
}

/** Request that may have a body, however it arrived. */
export interface PostedRequest<TAnswer> {
  readonly method: string | undefined;
  /** Request targets, best first. */
  readonly targets: readonly string[];
  readonly host: string | undefined;
  /** Returns a header. @param name in lower case */
  header(name: string): string | undefined;
  /** Reads the body. @throws {InvalidRequestError} if it is too large */
  readBody(rules: BodyRules): Promise<ReceivedBody>;
  authorize(): TAnswer | Promise<TAnswer>;
}

/** Responds to a request. Never throws and never rejects. */
export type Respond<TAnswer> = (request: PostedRequest<TAnswer>) => Promise<DashboardResponse>;

/** Returns `true` for a body of JSON. A form of another site can send neither this type nor, without a preflight, a header. */
export function isJson({ header }: Pick<PostedRequest<unknown>, 'header'>): boolean {
  return /^application\/json\s*(;|$)/i.test(header('content-type') ?? '');
}

/** Creates the handler for `node:http`, and for frameworks that pass the raw request and response. */
export function createNodeHandler<TAnswer>(
  respond: Respond<TAnswer>,
  basePath: string,
  authorize: (req: IncomingMessage) => TAnswer | Promise<TAnswer>,
): DashboardHandler {
  return (req, res) => {
    const request: PostedRequest<TAnswer> = {
      method: req.method,
      targets: targetsOf(req, basePath),
      host: authorityOf(req),
      header: (name) => single(req.headers[name]),
      readBody: (rules) => readNodeBody(req, rules),
      authorize: () => authorize(req),
    };
    void respond(request).then(({ status, headers, body }) => {
      if (res.headersSent || res.writableEnded || res.destroyed) return;
      res.statusCode = status;
      for (const [name, value] of headers) res.setHeader(name, value);
      // The rest of a body that is not read must not be taken for the next request.
      if (!req.complete) res.setHeader('Connection', 'close');
      res.end(body);
    });
  };
}

function single(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'object' ? value.join(', ') : value;
}

/** Creates the handler for the Fetch API. */
export function createFetchHandler<TAnswer>(
  respond: Respond<TAnswer>,
  authorize: (request: Request) => TAnswer | Promise<TAnswer>,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const { pathname, search, host } = new URL(request.url);
    const header = (name: string): string | undefined => request.headers.get(name) ?? undefined;
    const { status, headers, body } = await respond({
      method: request.method,
      targets: [pathname + search],
      host: header('host') ?? host,
      header,
      readBody: async (rules) =>
        bodyOf(request.body === null ? Buffer.alloc(0) : await readAll(request.body, rules), rules),
      authorize: () => authorize(request),
    });
    return new Response(String(body), {
      status,
      headers: headers.map(([name, value]): [string, string] => [name, value]),
    });
  };
}

/** Reads the body of a request: what the framework has parsed, or else its stream. */
async function readNodeBody(req: IncomingMessage, rules: BodyRules): Promise<ReceivedBody> {
  const { body, rawBody }: { body?: unknown; rawBody?: unknown; url?: unknown } = req;
  for (const kept of [rawBody, body]) {
    if (Buffer.isBuffer(kept)) return bodyOf(checkSize(kept, rules), rules);
    if (typeof kept === 'string') return bodyOf(checkSize(Buffer.from(kept), rules), rules);
  }
  return body === undefined ? bodyOf(await readAll(req, rules), rules) : { raw: undefined, json: () => body };
}

async function readAll(chunks: AsyncIterable<Uint8Array>, rules: BodyRules): Promise<Buffer> {
  const read: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > rules.maxBytes) throw tooLarge(rules);
    read.push(chunk);
  }
  return Buffer.concat(read);
}

function checkSize(raw: Buffer, rules: BodyRules): Buffer {
  if (raw.length > rules.maxBytes) throw tooLarge(rules);
  return raw;
}

function tooLarge({ code, maxBytes }: BodyRules): InvalidRequestError {
  return new InvalidRequestError(code, `the body has more than ${maxBytes} bytes`, 413);
}

function bodyOf(raw: Buffer, { code }: BodyRules): ReceivedBody {
  return {
    raw,
    json(): unknown {
      try {
        return JSON.parse(raw.toString());
      } catch {
        throw new InvalidRequestError(code, 'the body is not JSON');
      }
    },
  };
}
