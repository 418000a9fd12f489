import assert from 'node:assert';
import { inspect } from 'node:util';
import { HTTPException } from 'hono/http-exception';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { absentFailures, type Failure, nodeFailures, packageFailures } from './foreign-errors.fixture.js';
import { createRedactor, publicErrorInfo } from './redaction.js';

const secret = 'canary-41c@example.com';

async function thrownBy(fail: Failure): Promise<unknown> {
  try {
    await fail();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe.each([
  ['Node', nodeFailures(secret)],
  ['installed packages', packageFailures(secret)],
  ['other packages', absentFailures(secret)],
])('errors of %s', (_, failures) => {
  it.each(Object.entries(failures))('show no text of %s', async (_name, fail) => {
    const thrown = await thrownBy(fail);
    expect(thrown).toBeInstanceOf(Error);
    const shown = publicErrorInfo(thrown);
    const logged = inspect(createRedactor().loggable(thrown), { depth: 9, showHidden: true });
    expect(JSON.stringify(shown)).not.toContain(secret);
    expect(logged.replaceAll(/^ +at .*$/gm, '')).not.toContain(secret);
    expect(shown.message).not.toBe('');
  });
});

describe("errors of the application's code", () => {
  class Declined extends Error {
    readonly status: number;

    constructor(message: string) {
      super(message);
      this.status = 402;
    }
  }

  const frame = '\n    at main (/app/main.js:1:1)';

  const throwIt = (error: Error): never => {
    throw error;
  };

  it.each<[string, Failure]>([
    ['a function', () => throwIt(new Error('declined'))],
    [
      'a method of a class',
      () =>
        new (class Shop {
          pay = (): never => throwIt(new Error('declined'));
        })().pay(),
    ],
    ['a callback of the runtime', () => ['a'].map(() => throwIt(new Error('declined')))],
    [
      'a callback of a package',
      () =>
        z
          .string()
          .transform(() => throwIt(new Error('declined')))
          .parse('a'),
    ],
    ['an asynchronous function', async () => throwIt(await Promise.resolve(new Error('declined')))],
    ['a timer', () => new Promise((_, reject) => setTimeout(() => reject(new Error('declined')), 0))],
    ['a class of its own', () => throwIt(new Declined('declined'))],
    ['a class with an ERR_ code', () => throwIt(Object.assign(new Declined('declined'), { code: 'ERR_DECLINED' }))],
    ['a class of a package', () => throwIt(new HTTPException(402, { message: 'declined' }))],
    ['an assertion with a message', () => assert(secret.length === 0, 'declined')],
    [
      'a factory that hides its frames',
      () => {
        const declined = (): Error => {
          const error = new Error('declined');
          Error.captureStackTrace(error, declined);
          return error;
        };
        throw declined();
      },
    ],
    ['compiled code', () => new Function("throw new Error('declined')")()],
    [
      'code that extends a message',
      () => {
        const error = new Error('in');
        error.message = 'declined';
        throw error;
      },
    ],
  ])('show the message of %s', async (_, fail) => {
    expect(publicErrorInfo(await thrownBy(fail)).message).toBe('declined');
  });

  it.each<[string, unknown, string?]>([
    ['no stack', undefined],
    ['a stack that is not a text', []],
    ['no frames, as with Error.stackTraceLimit = 0', `Error: ${secret}`],
    [
      'its own text that looks like a frame',
      `Error: ${secret}${frame}\n    at JSON.parse (<anonymous>)`,
      `${secret}${frame}`,
    ],
    ['a frame of a waiting caller only', `Error: ${secret}\n    at async main (/app/main.js:1:1)`],
    ['a frame of Deno', `Error: ${secret}\n    at op (ext:core/00_ops.js:1:1)`],
    ['a frame of native code in Bun', `Error: ${secret}\n    at parse (native:1:11)`],
    ['a frame of pnpm', `Error: ${secret}\n    at get (/app/node_modules/.pnpm/got@1/node_modules/got/index.js:1:2)`],
    ['a frame on Windows', `Error: ${secret}\n    at get (C:\\app\\node_modules\\got\\index.js:1:2)`],
    ["a frame below Hubline's", `Error: ${secret}\n    at a (/app/node_modules/hubline/node_modules/ajv/a.js:1:2)`],
    [
      'a source map',
      `/app/main.ts:1\nthrow x\n^\n\nError: ${secret}\n    at get (webpack://app/../node_modules/got/a.ts:1:2)`,
    ],
  ])('hide the message of an error with %s', (_, stack, message = secret) => {
    const error = Object.defineProperty(new Error(message), 'stack', { value: stack });
    expect(publicErrorInfo(error)).toEqual({ name: 'Error', message: 'message withheld' });
  });

  it.each([
    ['its own', '/app/node_modules/hubline/dist/hub/emit.js:1:2'],
    ['its own under pnpm', '/app/node_modules/.pnpm/hubline@0.1.0_zod@4/node_modules/hubline/dist/hub/emit.js:1:2'],
    ['a source', 'file:///app/src/main.ts:1:2'],
    ['a linked package of the repository', '/repo/packages/payments/dist/pay.js:1:2'],
  ])('show the message of an error from %s', (_, location) => {
    const error = new Error('declined');
    error.stack = `Error: declined\n    at pay (${location})`;
    expect(publicErrorInfo(error).message).toBe('declined');
  });
});

it('reads the stack of a message of 8 MB in bounded time', () => {
  const error = new Error('    at main (/app/main.js:1:1)\n'.repeat(250_000));
  error.message = 'declined';
  expect(publicErrorInfo(error).message).toBe('declined');
});
