import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const connections = 16;

/** Keeps connections busy with one request, over and over, at the least cost to the processor that they share. */
export interface Load {
  run(times: number): Promise<void>;
  close(): void;
}

/**
 * Opens the connections.
 *
 * @param request as it is sent, headers included; its answers must say their length
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
        length ??= lengthOfAnswer(chunk);
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

/** Of head and body, from the first chunk, which has the whole head. */
function lengthOfAnswer(chunk: Buffer): number {
  const headEnd = chunk.indexOf('\r\n\r\n') + 4;
  const [, status, length = '0'] =
    /^HTTP\/1.1 (200|304) (?:.*\r\n)*?(?:content-length: (\d+)\r\n|\r\n)/i.exec(chunk.toString('latin1', 0, headEnd)) ??
    [];
  if (headEnd < 4 || status === undefined)
    throw new Error(`not an answer that was asked for: ${chunk.subarray(0, 200)}`);
  return headEnd + Number(length);
}
