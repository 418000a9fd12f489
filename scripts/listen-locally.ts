import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** Port that stays free for its owner while no server listens on it. */
export interface ReservedPort {
  readonly port: number;
  /** Makes the port available to others. */
  release(): void;
}

/** Range of ports, from an even number up to and without `end`. */
interface PortRange {
  readonly start: number;
  readonly end: number;
}

// Linux and macOS assign higher ports to connections and to servers without a port of their own. A client that
// reconnects to such a port while its server is down may even reach itself.
const unassigned: PortRange = { start: 10_000, end: 32_000 };

/** Starts a server on a free port of the loopback interface and resolves with the port. */
export async function listenLocally(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a TCP server has an address with a port');
  return address.port;
}

/**
 * Reserves a port for a server of another process, across its restarts, until `release` or the end of this process.
 * Every process that calls this function leaves the port out, because this one listens on the port above it.
 *
 * @throws {Error} if no port of the range is free
 */
export async function reservePort({ start, end }: PortRange = unassigned): Promise<ReservedPort> {
  const pairs = (end - start) / 2;
  const first = Math.floor(Math.random() * pairs);
  for (let step = 0; step < pairs; step += 1) {
    const port = start + 2 * ((first + step) % pairs);
    const mark = await tryListening(port + 1);
    if (mark === undefined) continue;
    const probe = await tryListening(port);
    if (probe === undefined) {
      mark.close();
      continue;
    }
    await once(probe.close(), 'close');
    return { port, release: () => void mark.close() };
  }
  throw new Error(`no port from ${start} to ${end} is free`);
}

/** Resolves with a port that no server listens on, reserved until this process ends. */
export async function freePort(): Promise<number> {
  return (await reservePort()).port;
}

/** Resolves with a server that does not keep the process alive, or with `undefined` if the port is in use. */
async function tryListening(port: number): Promise<Server | undefined> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(undefined));
    server.listen(port, '127.0.0.1', () => resolve(server.unref()));
  });
}
