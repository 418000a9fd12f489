import type { Transport } from 'hubline';
import { postgresTransport } from 'hubline/postgres';
import { redisTransport } from 'hubline/redis';
import { sqliteObserver, sqliteTransport } from 'hubline/sqlite';

/** Creates the transport of a worker of the shop. @param store URL of Redis or of Postgres, or a file */
export function sharedTransport(store: string): Transport {
  return isFile(store) ? sqliteTransport({ file: store }) : serverTransport(store);
}

/** Creates the transport of a process that only reads. @param store URL of Redis or of Postgres, or a file */
export function readingTransport(store: string): Transport {
  return isFile(store) ? sqliteObserver({ file: store }) : serverTransport(store);
}

/** Returns whether one process has to own the store. */
export function isFile(store: string): boolean {
  return !/^(?:rediss?|postgres(?:ql)?):/.test(store);
}

function serverTransport(url: string): Transport {
  return url.startsWith('postgres')
    ? postgresTransport({ connectionString: url, schema: 'shop' })
    : redisTransport({ url, prefix: 'shop' });
}
