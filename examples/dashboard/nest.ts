import 'reflect-metadata';
import { type BeforeApplicationShutdown, Module, type OnApplicationBootstrap } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { createDashboardHandler, createHub, type Hub } from 'hubline';

/** Injection token of the hub: `@Inject(HUB) hub: Hub`. */
const HUB = Symbol('hub');
const hub: Hub = createHub();
hub.event({ type: 'order.created', handler: ({ eventId }) => console.log(eventId) });

@Module({ providers: [{ provide: HUB, useValue: hub }], exports: [HUB] })
class HubModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  onApplicationBootstrap(): Promise<void> {
    return hub.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await hub.stop();
  }
}

const app = await NestFactory.create(HubModule, { logger: ['warn', 'error'] });
const allowedHosts = ['127.0.0.1', 'localhost'];
app.use('/ops/hub', createDashboardHandler(hub, { allowedHosts }));
app.enableShutdownHooks(['SIGTERM'], { useProcessExit: true });

const port = Number(process.env['PORT'] ?? 4000);
await app.listen(port, '127.0.0.1');
console.log(`http://127.0.0.1:${port}/ops/hub`);
