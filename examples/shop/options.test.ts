import { describe, expect, test } from 'vitest';
import { readOptions } from './options.js';

describe('readOptions', () => {
  const unset = { help: false, port: undefined, rate: 5, redis: undefined, postgres: undefined, file: undefined };

  test.each([
    { args: [], expected: { ...unset, kill: false } },
    { args: ['--port', '0'], expected: { ...unset, port: 0, kill: false } },
    { args: ['--port=65535', '--rate=0.5'], expected: { ...unset, port: 65_535, rate: 0.5, kill: false } },
    { args: ['--rate', '0'], expected: { ...unset, rate: 0, kill: false } },
    {
      args: ['--redis', 'redis://127.0.0.1:6379'],
      expected: { ...unset, redis: 'redis://127.0.0.1:6379', kill: false },
    },
    { args: ['--file', 'shop.db', '--kill'], expected: { ...unset, file: 'shop.db', kill: true } },
    { args: ['--rate', '3', '--help'], expected: { help: true } },
  ])('$args', ({ args, expected }) => {
    expect(readOptions(args)).toEqual(expected);
  });

  test.each([
    { args: ['--port', '65536'], message: '--port must be a number from 0 to 65535, got "65536"' },
    { args: ['--port', '80.5'], message: '--port must be a whole number from 0 to 65535, got "80.5"' },
    { args: ['--port', ''], message: '--port must be a number from 0 to 65535, got ""' },
    { args: ['--port', '0x50'], message: '--port must be a number from 0 to 65535, got "0x50"' },
    { args: ['--rate', 'many'], message: '--rate must be a number from 0 to 10000, got "many"' },
    { args: ['--rate', '1e9'], message: '--rate must be a number from 0 to 10000, got "1e9"' },
    { args: ['--rate=-1'], message: '--rate must be a number from 0 to 10000, got "-1"' },
    { args: ['--port'], message: 'argument missing' },
    { args: ['--verbose'], message: "Unknown option '--verbose'" },
    { args: ['--file', 'a', '--redis', 'b'], message: '--file and --redis exclude each other' },
    { args: ['--file='], message: '--file must be the path of a file, got ""' },
    { args: ['4000'], message: "Unexpected argument '4000'" },
  ])('refuses $args', ({ args, message }) => {
    expect(() => readOptions(args)).toThrow(message);
  });
});
