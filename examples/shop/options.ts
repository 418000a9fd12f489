import { parseArgs } from 'node:util';

/** What the command line asks for. */
export type ShopOptions =
  | { readonly help: true }
  | {
      readonly help: false;
      /** `undefined`: {@link firstPort}, or the next one that is free. */
      readonly port: number | undefined;
      /** Orders a second. */
      readonly rate: number;
      /** Where Redis is; `undefined` for a shop in this process alone. */
      readonly redis: string | undefined;
    };

/** The port to try first where none was asked for. */
export const firstPort = 4_000;

const defaultRate = 5;
const maxRate = 10_000;

export const usage: string = `A shop whose orders come by themselves, and its dashboard.

  npm start -- [options]

  --port N   listen on this port, 0 for any free one (default: ${firstPort}, or the next free one)
  --rate N   orders a second, 0 for nothing at all, at most ${maxRate} (default: ${defaultRate})
  --redis U  run the shop in three worker processes on the Redis at this URL, such as redis://127.0.0.1:6379
  --help     print this`;

/** Reads the arguments. @throws {Error} naming the argument that is wrong */
export function readOptions(args: readonly string[]): ShopOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      port: { type: 'string' },
      rate: { type: 'string' },
      redis: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) return { help: true };
  const port = values.port === undefined ? undefined : readNumber('--port', values.port, 65_535);
  if (port !== undefined && !Number.isInteger(port)) throw invalid('--port', values.port, 65_535, 'a whole number');
  return {
    help: false,
    port,
    rate: values.rate === undefined ? defaultRate : readNumber('--rate', values.rate, maxRate),
    redis: values.redis,
  };
}

function readNumber(name: string, text: string, max: number): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (!(value <= max)) throw invalid(name, text, max, 'a number');
  return value;
}

function invalid(name: string, text: string | undefined, max: number, kind: string): Error {
  return new Error(`${name} must be ${kind} from 0 to ${max}, got ${JSON.stringify(text)}`);
}
