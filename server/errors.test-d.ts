import { expectTypeOf } from 'vitest';
import { FatalError, HubError, InvalidOptionError, RetryAfterError } from './errors.js';

declare const error: unknown;

if (HubError.is(error)) {
  expectTypeOf(error).toEqualTypeOf<HubError>();
  expectTypeOf(error.code).toEqualTypeOf<string>();
}
if (RetryAfterError.is(error)) expectTypeOf(error.retryAfterMs).toEqualTypeOf<number>();
if (FatalError.is(error)) expectTypeOf(error).toEqualTypeOf<FatalError>();
if (InvalidOptionError.is(error)) expectTypeOf(error).toEqualTypeOf<InvalidOptionError>();

// @ts-expect-error a delay is a number
new RetryAfterError('5s');
// @ts-expect-error a message is required
new FatalError();
