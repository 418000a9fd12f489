import { createHub, SchemaValidationError } from 'hubline';
import { z } from 'zod';

const hub = createHub();
const paid = hub.event({
  type: 'order.paid',
  schema: z.object({ id: z.string(), cents: z.number().int() }),
  handler: ({ payload }) => console.log(`paid ${payload.cents.toFixed()}`),
});
await hub.start();
await hub.emit(paid, { id: 'A-1', cents: 700 });
await hub.emit('order.paid', { id: 'A-2', cents: 'free' }).catch((error: unknown) => {
  if (error instanceof SchemaValidationError) console.log(error.issues.map(({ path }) => path).join());
});
await hub.emit('order.payed', {}).catch((error: Error) => console.log(error.message));
await hub.stop();
