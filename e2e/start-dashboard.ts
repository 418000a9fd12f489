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

/** Configuration of a dashboard under test. */
export interface DashboardSetup {
  /** Registers event types. Called for every hub that is started. */
  readonly register?: (hub: Hub) => void;
  readonly options?: DashboardOptions;
  /** Hub options in addition to the service. */
  readonly hubOptions?: HubOptions;
  /** Mounts the handler in a framework. */
  readonly mountIn?: (handler: DashboardHandler) => RequestListener | Promise<RequestListener>;
}

/** Responds instead of the dashboard, as a proxy would. Returns false to pass the request on. */
export type Interceptor = (req: IncomingMessage, res: ServerResponse) => boolean;

/** Running hub behind a real server. */
export interface RunningDashboard {
  /** Origin without a trailing slash. */
  readonly origin: string;
  /** Current hub. */
  readonly hub: Hub;
  /** Called for every request. Tests replace it. */
  intercept: Interceptor;
  /** Closes the server with all connections, and stops the hub. */
  kill(): Promise<void>;
  /** Starts a new hub, with its counters at zero, on the same port. */
  restart(): Promise<void>;
}

/** Starts a hub and a server with its dashboard. */
export async function startDashboard(setup: DashboardSetup): Promise<RunningDashboard> {
  const { register, options, hubOptions, mountIn = (handler) => handler } = setup;
  const run = async (port: number): Promise<{ hub: Hub; server: Server }> => {
    const hub = createHub({ service: 'shop', ...hubOptions });
    register?.(hub);
    await hub.start();
    const listener = await mountIn(createDashboardHandler(hub, options));
    const server = createServer((req, res) => {
      if (!dashboard.intercept(req, res)) listener(req, res);
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
    intercept: () => false,
    kill,
    async restart() {
      await kill();
      running = await run(port);
    },
  };
  return dashboard;
}

/** Returns the port on which a server listens. */
export function portOf(server: Server): number {
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the server has no TCP port');
  return address.port;
}
