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
  /** Ends all connections, accepts no others, and stops the hub. */
  kill(): Promise<void>;
  /** Starts a new hub, with its counters at zero, on the same port. */
  restart(): Promise<void>;
  /** Stops the hub and the server. */
  close(): Promise<void>;
}

/** Starts a hub and a server with its dashboard. */
export async function startDashboard(setup: DashboardSetup): Promise<RunningDashboard> {
  const { register, options, hubOptions, mountIn = (handler) => handler } = setup;
  const run = async (): Promise<{ hub: Hub; listener: RequestListener }> => {
    const hub = createHub({ service: 'shop', logger: false, ...hubOptions });
    register?.(hub);
    await hub.start();
    return { hub, listener: await mountIn(createDashboardHandler(hub, options)) };
  };
  let running = await run();
  let isDown = false;
  const server = createServer((req, res) => {
    if (!dashboard.intercept(req, res)) running.listener(req, res);
  });
  // The port stays taken: otherwise the server of another test may get it.
  server.on('connection', (socket) => {
    if (isDown) socket.destroy();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const kill = async (): Promise<void> => {
    isDown = true;
    server.closeAllConnections();
    await running.hub.stop({ drainMs: 0 });
  };
  const dashboard: RunningDashboard = {
    origin: `http://127.0.0.1:${portOf(server)}`,
    get hub() {
      return running.hub;
    },
    intercept: () => false,
    kill,
    async restart() {
      await kill();
      running = await run();
      isDown = false;
    },
    async close() {
      await kill();
      await once(server.close(), 'close');
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
