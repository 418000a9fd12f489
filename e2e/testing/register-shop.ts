import { FatalError, type Hub } from 'hubline';

/** Registers an event type that succeeds and one that fails. */
export function registerShop(hub: Hub): void {
  hub.event({ type: 'order.created', handler: () => {} });
  hub.event({
    type: 'payment.requested',
    handler() {
      throw new FatalError('card declined');
    },
  });
}
