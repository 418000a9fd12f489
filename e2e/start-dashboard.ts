import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import {
  createDashboardHandler,
  createHub,
  type DashboardHandler,
  type DashboardOptions,
  type Hub,
  type HubOptions,
} from 'hubline';

/** What is served. */
export interface DashboardSetup {
  /** Registers event types, on every hub that is started. */
  readonly register?: (hub: Hub) => void;
  readonly options?: DashboardOptions;
  /** Beside the service's name. */
  readonly hubOptions?: HubOptions;
  /** Puts the handler into a framework. */
  readonly mountIn?: (handler: DashboardHandler) => RequestListener | Promise<RequestListener>;
}

/** Answers in place of the dashboard, as something in front of it would; `false` lets the request pass. */
export type Front = (req: IncomingMessage, res: ServerResponse) => boolean;

/** A real hub behind a real server. */
export interface RunningDashboard {
  /** Without a slash at its end. */
  readonly origin: string;
  /** The hub that runs now. */
  readonly hub: Hub;
  front: Front;
  /** Ends the server with all its connections, and its hub. */
  kill(): Promise<void>;
  /** Starts a new hub, which has counted nothing, on the same port. */
  restart(): Promise<void>;
}

export async function startDashboard(setup: DashboardSetup): Promise<RunningDashboard> {
  const { register, options, hubOptions, mountIn = (handler) => handler } = setup;
  const run = async (port: number): Promise<{ hub: Hub; server: Server }> => {
    const hub = createHub({ service: 'shop', ...hubOptions });
    register?.(hub);
    await hub.start();
    const listener = await mountIn(createDashboardHandler(hub, options));
    const server = createServer((req, res) => {
      if (!dashboard.front(req, res)) listener(req, res);
    });
    await once(server.listen(port, '127.0.0.1'), 'listening');
    return { hub, server };
  };
  const kill = async (): Promise<void> => {
    const { hub, server } = running;
    if (server.listening) {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    }
    await hub.stop({ drainMs: 0 });
  };

  let running = await run(0);
  const port = portOf(running.server);
  const dashboard: RunningDashboard = {
    origin: `http://127.0.0.1:${port}`,
    get hub() {
      return running.hub;
    },
    front: () => false,
    kill,
    async restart() {
      await kill();
      running = await run(port);
    },
  };
  return dashboard;
}

/** The port that a server listens on. */
export function portOf(server: Server): number {
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('a TCP server that listens has a port');
  return address.port;
}
