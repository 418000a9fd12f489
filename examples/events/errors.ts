import { type Hub, HubError, SchemaValidationError } from 'hubline';

/** Emits a client's order and returns the status and message of the response. */
export async function acceptOrder(hub: Hub, body: unknown): Promise<{ status: number; message: string }> {
  try {
    const { id } = await hub.emit('order.created', body);
    return { status: 202, message: id };
  } catch (error) {
    if (error instanceof SchemaValidationError) {
      return { status: 400, message: error.issues.map(({ path, message }) => `${path} ${message}`).join('; ') };
    }
    const busy = ['ERR_BACKPRESSURE', 'ERR_TRANSPORT_UNAVAILABLE', 'ERR_HUB_STOPPED'];
    if (HubError.is(error) && busy.includes(error.code)) return { status: 503, message: 'try again later' };
    throw error;
  }
}
