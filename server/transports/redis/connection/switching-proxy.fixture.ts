import { connect, createServer, type Socket } from 'node:net';
import { listenLocally } from '../../../../scripts/listen-locally.js';

/** TCP proxy that stands for a host name: new connections reach the target, open ones stay where they are. */
export interface SwitchingProxy {
  readonly port: number;
  switchTo(targetPort: number): void;
  close(): void;
}

export async function startSwitchingProxy(targetPort: number): Promise<SwitchingProxy> {
  let target = targetPort;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  return {
    port: await listenLocally(server),
    switchTo(port) {
      target = port;
    },
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
