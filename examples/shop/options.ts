import { parseArgs } from 'node:util';

/** Options of the command line. */
export type ShopOptions =
  | { readonly help: true }
  | {
      readonly help: false;
      /** Port to listen on. @default {@link firstPort}, or the next free one */
      readonly port: number | undefined;
      /** Orders per second. */
      readonly rate: number;
      /** URL of Redis; without it, the shop runs in this process. */
      readonly redis: string | undefined;
      /** URL of Postgres, in place of Redis. */
      readonly postgres: string | undefined;
      /** File that the shop keeps its events in; without it, in memory. */
      readonly file: string | undefined;
      /** Kill a worker every few seconds. The shop then runs in worker processes, without a server in a file. */
      readonly kill: boolean;
    };

/** First port to try if none is given. */
export const firstPort = 4_000;

const defaultRate = 5;
const maxRate = 10_000;

export const usage: string = `A demo shop with simulated orders, and its dashboard.

  npx hubline demo [options]     (in the repository: npm start -- [options])

  --port N      listen on this port, 0 for any free one (default: ${firstPort}, or the next free one)
  --rate N      orders per second, 0 for no traffic, at most ${maxRate} (default: ${defaultRate})
  --kill        kill a worker with kill -9 every few seconds, and print the counts, which stay exact
  --file F      keep the events in the file F, such as shop.db, across restarts and kill -9
  --redis U     run the shop in three worker processes on the Redis at this URL, such as redis://127.0.0.1:6379
  --postgres U  the same on the Postgres at this URL
  --help        print this help`;

/** Parses the arguments. @throws {Error} that names the wrong argument */
export function readOptions(args: readonly string[]): ShopOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      port: { type: 'string' },
      rate: { type: 'string' },
      redis: { type: 'string' },
      postgres: { type: 'string' },
      file: { type: 'string' },
      kill: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) return { help: true };
  const port = values.port === undefined ? undefined : readNumber('--port', values.port, 65_535);
  if (port !== undefined && !Number.isInteger(port)) throw invalid('--port', values.port, 65_535, 'a whole number');
  const stores = (['file', 'redis', 'postgres'] as const).filter((name) => values[name] !== undefined);
  if (stores.length > 1) throw new Error(`--${stores[0]} and --${stores[1]} exclude each other`);
  if (values.file === '') throw new Error('--file must be the path of a file, got ""');
  return {
    help: false,
    port,
    rate: values.rate === undefined ? defaultRate : readNumber('--rate', values.rate, maxRate),
    redis: values.redis,
    postgres: values.postgres,
    file: values.file,
    kill: values.kill === true,
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
