import { once } from 'node:events';
import type { Server } from 'node:http';

const host = '127.0.0.1';
const portsTried = 100;

/** Listens on this port, or on any free one for 0, and returns the URL. @throws {Error} if the port is in use */
export async function listenOn(server: Server, port: number): Promise<string> {
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw hasCode(error, 'EADDRINUSE') ? new PortTakenError(port, error) : error;
  }
  const address = server.address();
  return `http://${host}:${typeof address === 'object' && address !== null ? address.port : port}/`;
}

/** Listens on the first free port from `first` on, and returns the URL. @throws {Error} if none is free */
export async function listenFrom(server: Server, first: number): Promise<string> {
  for (let port = first; port < first + portsTried; port += 1) {
    try {
      return await listenOn(server, port);
    } catch (error) {
      if (!(error instanceof PortTakenError)) throw error;
    }
  }
  throw new Error(`ports ${first} to ${first + portsTried - 1} are all in use: choose one with --port`);
}

class PortTakenError extends Error {
  constructor(port: number, cause: unknown) {
    super(`port ${port} is in use: choose another one with --port, or leave --port out`, { cause });
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
