import { connect, createServer, type Socket } from 'node:net';
import { listenLocally } from '../../scripts/listen-locally.js';

/** Reply that has not arrived. */
export interface WithheldReply {
  /** Resolves when Redis has sent the reply. */
  readonly isSent: Promise<void>;
  release(): void;
}

/** TCP proxy whose connections can go silent without closing. */
export interface Proxy {
  readonly port: number;
  /** Drops all data in both directions, on existing and new connections. */
  goSilent(): void;
  /** Forwards data of new connections again; silent ones stay silent. */
  recover(): void;
  /** Withholds the first reply that contains `text`, and everything that follows on its connection. */
  withhold(text: string): WithheldReply;
  close(): void;
}

export async function startProxy(targetPort: number): Promise<Proxy> {
  const sockets = new Set<Socket>();
  let isSilent = false;
  let withholding: { readonly text: string; readonly start: () => void; readonly released: Promise<void> } | undefined;
  const withheld = new WeakMap<Socket, Promise<void>>();
  const server = createServer((client) => {
    const upstream = connect(targetPort, '127.0.0.1');
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('data', (data) => {
        if (isSilent || silent.has(from)) return;
        if (from === upstream && withholding !== undefined && data.includes(withholding.text)) {
          withheld.set(from, withholding.released);
          withholding.start();
          withholding = undefined;
        }
        const released = withheld.get(from);
        if (released === undefined) to.write(data);
        else void released.then(() => to.write(data));
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
    withhold(text) {
      let release = (): void => {};
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      const isSent = new Promise<void>((resolve) => {
        withholding = { text, start: resolve, released };
      });
      return { isSent, release };
    },
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
