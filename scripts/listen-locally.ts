import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** Starts a server on a free port of the loopback interface and resolves with the port. */
export async function listenLocally(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a TCP server has an address with a port');
  return address.port;
}

/** Resolves with a port that no server listens on. */
export async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listenLocally(server);
  await once(server.close(), 'close');
  return port;
}
