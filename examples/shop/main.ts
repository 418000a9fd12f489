import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDashboardHandler } from 'hubline/dashboard';
import type { CourierServer } from './courier/courier-server.js';
import { listenFrom, listenOn } from './listen.js';
import { chooseModels } from './models/models.js';
import { firstPort, readOptions, type ShopOptions, usage } from './options.js';
import { type RunningShop, shopInThisProcess } from './shop-in-this-process.js';
import { shopInWorkers } from './shop-in-workers.js';

// Without it, the page of a stranger could read the dashboard through a name that points here (DNS rebinding).
const allowedHosts = ['127.0.0.1', 'localhost'];

async function run(options: Extract<ShopOptions, { help: false }>): Promise<void> {
  const { port } = options;
  const courier = await startCourier();
  const { hub, start, stop } = await createRunningShop(options, courier);
  const server = createServer(createDashboardHandler(hub, { allowedHosts }));
  const end = async (): Promise<void> => {
    server.close();
    server.closeAllConnections();
    await stop();
    courier?.close();
  };
  let url: string;
  try {
    url = port === undefined ? await listenFrom(server, firstPort) : await listenOn(server, port);
    await start();
  } catch (error) {
    await end();
    throw error;
  }
  // Not `once`: the terminal, npm and tsx each send the signal, and a second one without a listener would kill.
  process.on('SIGINT', end);
  process.on('SIGTERM', end);
  console.log(`Dashboard: ${url}
${chooseModels(process.env).description}
Ctrl+C stops the shop.`);
}

async function createRunningShop(
  { redis, postgres, file, kill, rate }: Extract<ShopOptions, { help: false }>,
  courier: CourierServer | undefined,
): Promise<RunningShop> {
  const server = redis ?? postgres;
  if (server === undefined && !kill) return await shopInThisProcess(rate, courier, file);
  if (server !== undefined || file !== undefined) {
    return shopInWorkers({ store: server ?? file ?? '', rate, kill, courier });
  }
  const folder = await mkdtemp(join(tmpdir(), 'hubline-demo-'));
  const { hub, start, stop } = shopInWorkers({ store: join(folder, 'shop.db'), rate, kill, courier });
  return {
    hub,
    start,
    async stop() {
      await stop();
      await rm(folder, { recursive: true });
    },
  };
}

/** Starts the courier's MCP server; without the optional package for MCP, the shop tracks parcels itself. */
async function startCourier(): Promise<CourierServer | undefined> {
  try {
    const { startCourierServer } = await import('./courier/courier-server.js');
    return await startCourierServer();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

function fail(error: unknown, exitCode: number): void {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = exitCode;
}

function main(args: readonly string[]): void {
  let options: ShopOptions;
  try {
    options = readOptions(args);
  } catch (error) {
    fail(error, 2);
    console.error(`\n${usage}`);
    return;
  }
  if (options.help) console.log(usage);
  else run(options).catch((error: unknown) => fail(error, 1));
}

main(process.argv.slice(2));
