import { connect, createServer, type Socket } from 'node:net';
import { listenLocally } from '../scripts/listen-locally.js';

/** A TCP proxy whose connections can go silent without being closed. */
export interface Proxy {
  readonly port: number;
  /** From now on nothing passes, in either direction, on connections old and new. */
  goSilent(): void;
  /** Lets new connections pass again; the silent ones stay as they are. */
  recover(): void;
  close(): void;
}

export async function startProxy(targetPort: number): Promise<Proxy> {
  const sockets = new Set<Socket>();
  let isSilent = false;
  const server = createServer((client) => {
    const upstream = connect(targetPort, '127.0.0.1');
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('data', (data) => {
        if (!isSilent && !silent.has(from)) to.write(data);
      });
      from.on('error', () => from.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      if (isSilent) silent.add(from);
    }
  });
  const silent = new WeakSet<Socket>();
  return {
    port: await listenLocally(server),
    goSilent() {
      isSilent = true;
      for (const socket of sockets) silent.add(socket);
    },
    recover() {
      isSilent = false;
    },
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
