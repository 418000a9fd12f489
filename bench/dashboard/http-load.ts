import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const connections = 16;

/** Load generator that repeats one request on several connections, with little processor time of its own. */
export interface Load {
  run(times: number): Promise<void>;
  close(): void;
}

/**
 * Opens the connections.
 *
 * @param request complete HTTP request; its responses must have a Content-Length
 */
export async function openLoad(port: number, request: string): Promise<Load> {
  const sockets = await Promise.all(
    Array.from({ length: connections }, async () => {
      const socket = connect(port, '127.0.0.1').setNoDelay();
      await once(socket, 'connect');
      return socket;
    }),
  );

  async function drive(socket: Socket, times: number): Promise<void> {
    let left = times;
    let bytes = 0;
    let length: number | undefined;
    await new Promise<void>((resolve) => {
      const receive = (chunk: Buffer): void => {
        length ??= responseLength(chunk);
        bytes += chunk.length;
        if (bytes < length) return;
        bytes = 0;
        length = undefined;
        left -= 1;
        if (left > 0) {
          socket.write(request);
        } else {
          socket.off('data', receive);
          resolve();
        }
      };
      socket.on('data', receive);
      socket.write(request);
    });
  }

  return {
    async run(times) {
      await Promise.all(sockets.map((socket) => drive(socket, Math.ceil(times / connections))));
    },
    close() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Returns the length of head and body from the first chunk, which contains the whole head. */
function responseLength(chunk: Buffer): number {
  const headEnd = chunk.indexOf('\r\n\r\n') + 4;
  const [, status, length = '0'] =
    /^HTTP\/1.1 (200|304) (?:.*\r\n)*?(?:content-length: (\d+)\r\n|\r\n)/i.exec(chunk.toString('latin1', 0, headEnd)) ??
    [];
  if (headEnd < 4 || status === undefined) throw new Error(`unexpected response: ${chunk.subarray(0, 200)}`);
  return headEnd + Number(length);
}
