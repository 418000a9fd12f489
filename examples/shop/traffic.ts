import { BackpressureError, type Hub, HubStoppedError, SchemaValidationError } from 'hubline';
import { oneIn, pick, type Traffic } from './simulate.js';
import { startInquiries } from './support/inquiries.js';

const tickMs = 100;
const customers = ['Ada', 'Grace', 'Linus', 'Margaret', 'Barbara', 'Alan', 'Edsger', 'Katherine'];
const articles = ['teapot', 'kettle', 'cup', 'tray', 'sugar-bowl'];

/**
 * Emits orders to a started shop, and customers' questions. Some orders arrive twice, as from a double click,
 * and some are invalid.
 *
 * @param perSecond orders per second, fractions allowed; 0 for no traffic at all
 * @param onError called with errors that are not a response to the customer
 * @param series prefix of the order numbers, different in each process
 */
export function startTraffic(
  hub: Hub,
  perSecond: number,
  onError: (error: unknown) => void,
  series: string = 'A',
): Traffic {
  let next = 1;
  let owed = 0;
  const tick = (): void => {
    for (owed += (perSecond * tickMs) / 1_000; owed >= 1; owed -= 1) {
      sendOrder(hub, `${series}-${next}`).catch(onError);
      next += 1;
    }
  };
  if (perSecond === 0) return { stop: () => {} };
  const timer = setInterval(tick, tickMs);
  const inquiries = startInquiries(hub, onError);
  return {
    stop() {
      clearInterval(timer);
      inquiries.stop();
    },
  };
}

async function sendOrder(hub: Hub, orderId: string): Promise<void> {
  const isValid = !oneIn(40);
  const order = {
    orderId,
    customer: pick(customers),
    items: isValid ? [{ sku: pick(articles), quantity: 1 + Math.floor(Math.random() * 3) }] : [],
    amountCents: 500 + Math.floor(Math.random() * 20_000),
  };
  try {
    await hub.emit('order.created', order, { dedupeId: orderId });
    if (oneIn(20)) await hub.emit('order.created', order, { dedupeId: orderId });
  } catch (error) {
    // The customer sees "please check your order" or "please come back later": no failure of the shop.
    const isAnswered = [SchemaValidationError, BackpressureError, HubStoppedError].some(
      (kind) => error instanceof kind,
    );
    if (!isAnswered) throw error;
  }
}
