import { clearImmediate, clearInterval, clearTimeout, setImmediate, setInterval, setTimeout } from 'node:timers';
import { afterAll, expect } from 'vitest';

// A process runs many test files: a fake that one leaves behind would hang the next.

const real = { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate };

afterAll(() => {
  const left = Object.entries(real).filter(([name, timer]) => Reflect.get(globalThis, name) !== timer);
  expect(left, 'fakes of timers that this file leaves behind').toEqual([]);
});
