import type { Hub } from '../../hub/hub.js';
import type { IntrospectionBody } from '../protocol.js';

/** Reads everything that is registered on the hub. */
export async function readIntrospectionBody(hub: Hub): Promise<IntrospectionBody> {
  return { protocol: 1, ...(await hub.introspect()) };
}
