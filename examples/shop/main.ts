import { createServer } from 'node:http';
import { createDashboardHandler } from 'hubline/dashboard';
import { listenFrom, listenOn } from './listen.js';
import { chooseModels } from './models.js';
import { firstPort, readOptions, type ShopOptions, usage } from './options.js';
import { createShop } from './shop.js';
import { startTraffic } from './traffic.js';

const drainMs = 1_000;

async function run({ port, rate }: Extract<ShopOptions, { help: false }>): Promise<void> {
  const hub = createShop();
  const server = createServer(createDashboardHandler(hub));
  const url = port === undefined ? await listenFrom(server, firstPort) : await listenOn(server, port);
  await hub.start();
  const traffic = startTraffic(hub, rate, (error) => console.error(error));

  const stop = async (): Promise<void> => {
    traffic.stop();
    server.close();
    server.closeAllConnections();
    await hub.stop({ drainMs });
  };
  // Not `once`: npm and tsx pass on what the terminal sends to all of them, and the second signal would kill.
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  console.log(`Dashboard: ${url}\n${chooseModels(process.env).description}\nCtrl+C stops the shop.`);
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
