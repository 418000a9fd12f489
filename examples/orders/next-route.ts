import { fulfil, order } from './definitions.js';
import { getHub } from './next-hub.js';

/** `app/orders/route.ts`: places an order and responds with its result. */
export async function POST(request: Request): Promise<Response> {
  const hub = await getHub();
  const placed = order.safeParse(await request.json());
  if (!placed.success) return new Response(null, { status: 400 });
  const run = await hub.startWorkflow(fulfil, placed.data, { dedupeId: placed.data.id });
  return Response.json(await run.result());
}
