import { createServer } from 'node:http';
import { createDashboardHandler } from 'hubline/dashboard';
import { startCourierServer } from './courier/courier-server.js';
import { listenFrom, listenOn } from './listen.js';
import { chooseModels } from './models/models.js';
import { firstPort, readOptions, type ShopOptions, usage } from './options.js';
import { shopInThisProcess } from './shop-in-this-process.js';
import { shopInWorkers } from './shop-in-workers.js';

// Without it, the page of a stranger could read the dashboard through a name that points here (DNS rebinding).
const allowedHosts = ['127.0.0.1', 'localhost'];

async function run({ port, rate, redis, file }: Extract<ShopOptions, { help: false }>): Promise<void> {
  const courier = await startCourierServer();
  const { hub, start, stop } =
    redis === undefined ? await shopInThisProcess(rate, courier, file) : shopInWorkers(redis, rate, courier);
  const server = createServer(createDashboardHandler(hub, { allowedHosts }));
  const end = async (): Promise<void> => {
    server.close();
    server.closeAllConnections();
    await stop();
    courier.close();
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
