import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const connections = 16;

/** Keeps connections busy with one request, over and over, at the least cost to the processor that they share. */
export interface Load {
  run(times: number): Promise<void>;
  close(): void;
}

/**
 * Opens the connections. Answers are told apart by their length, which must be the same for all.
 *
 * @param request as it is sent, headers included
 */
export async function openLoad(port: number, request: string): Promise<Load> {
  const sockets = await Promise.all(
    Array.from({ length: connections }, async () => {
      const socket = connect(port, '127.0.0.1').setNoDelay();
      await once(socket, 'connect');
      return socket;
    }),
  );
  const [first] = sockets;
  if (first === undefined) throw new Error('there is no connection');
  const length = await lengthOfAnswer(first, request);

  async function drive(socket: Socket, times: number): Promise<void> {
    let left = times;
    let bytes = 0;
    await new Promise<void>((resolve) => {
      const receive = (chunk: Buffer): void => {
        bytes += chunk.length;
        if (bytes < length) return;
        bytes -= length;
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

async function lengthOfAnswer(socket: Socket, request: string): Promise<number> {
  socket.write(request);
  let received = Buffer.alloc(0);
  for (;;) {
    const [chunk] = await once(socket, 'data');
    received = Buffer.concat([received, chunk]);
    const headEnd = received.indexOf('\r\n\r\n');
    if (headEnd === -1) continue;
    const head = received.toString('latin1', 0, headEnd);
    const bodyLength = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0);
    if (received.length >= headEnd + 4 + bodyLength) return headEnd + 4 + bodyLength;
  }
}
