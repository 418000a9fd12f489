import { connect, createServer, type Socket } from 'node:net';
import { listenLocally } from '../scripts/listen-locally.js';

/** TCP proxy whose connections can go silent without closing. */
export interface Proxy {
  readonly port: number;
  /** Drops all data in both directions, on existing and new connections. */
  goSilent(): void;
  /** Forwards data of new connections again; silent ones stay silent. */
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
