import { describe, expect, it } from 'vitest';
import { stackFrames } from './stack.js';

const secret = 'alice@example.com';

describe('stackFrames', () => {
  it('returns the frames without the message', () => {
    const frames = stackFrames(new Error(`${secret}\n    at ${secret}`));
    expect(frames).toMatch(/^ {4}at .*stack\.test\.ts/);
    expect(frames).not.toContain(secret);
  });

  it('drops the message that the error had when it was created', () => {
    const error = new Error(`${secret}\nmore`);
    error.message = 'card declined';
    expect(stackFrames(error)).not.toContain(secret);
  });

  it('returns no text for an error without a stack', () => {
    const error = new Error('x');
    Reflect.deleteProperty(error, 'stack');
    expect(stackFrames(error)).toBe('');
  });
});
