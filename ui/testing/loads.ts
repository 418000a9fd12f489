import type { EventOverview } from '../../server/dashboard/protocol.js';

/** Activity of one type. */
export interface Load {
  readonly type: string;
  /** Events per minute at the mean of the day. */
  readonly perMinute: number;
  /** Part of the events that fail: in the last 8 minutes and before. */
  readonly failing?: readonly [now: number, before: number];
  readonly retried?: number;
  readonly pending?: number;
  readonly message?: string;
  readonly kind?: EventOverview['kind'];
}

/** Activity of a hub with four failing types and a backlog. */
export const LOADS: readonly Load[] = [
  { type: 'audit.recorded', perMinute: 240 },
  { type: 'cart.updated', perMinute: 520 },
  { type: 'customer.registered', perMinute: 5.4 },
  { type: 'email.queued', perMinute: 96, retried: 743, failing: [0.002, 0.001], message: 'mailbox 4711 is full' },
  { type: 'inventory.reserved', perMinute: 150, pending: 12 },
  { type: 'invoice.issued', perMinute: 31 },
  { type: 'mail:digest.sent', perMinute: 0.4 },
  { type: 'order.cancelled', perMinute: 2.2 },
  { type: 'order.created', perMinute: 160 },
  { type: 'order.shipped', perMinute: 58, pending: 139 },
  { type: 'payment.captured', perMinute: 148 },
  {
    type: 'payment.requested',
    perMinute: 152,
    failing: [0.05, 0.004],
    message: 'card declined: order 1048 of 9920',
    pending: 9,
    retried: 210,
  },
  { type: 'refund.requested', perMinute: 1.1, failing: [1, 0], message: 'gateway timeout after 3000 ms' },
  { type: 'search.indexed', perMinute: 90, failing: [0.13, 0], message: 'index orders-2026-01 is read-only' },
  { type: 'shipment.booked.with-the-carrier-that-was-chosen-by-the-customer-at-checkout', perMinute: 44 },
  { type: 'stock.low', perMinute: 0, kind: 'declared' },
  { type: 'ticket.created', perMinute: 3, kind: 'agent' },
  { type: 'webhook.delivered', perMinute: 64, failing: [0.002, 0.002], message: 'HTTP 502 from hooks.example.com' },
];

/** Activity of a hub with 5,000 types in 50 groups, some of which fail. */
export const THOUSANDS: readonly Load[] = Array.from({ length: 5_000 }, (_, n) => ({
  type: `service ${n % 50}.event ${n}`,
  perMinute: n % 7,
  ...(n % 700 === 6 && { failing: [0.4, 0], message: 'no route to host' }),
}));

/** Activity of types with long names, names in other scripts, huge counts and long errors. */
export const EXTREMES: readonly Load[] = [
  { type: `order.${'very-'.repeat(37)}long`, perMinute: 900_000, failing: [0.0004, 0], message: 'x'.repeat(900) },
  { type: 'طلب.تم إنشاؤه', perMinute: 12, failing: [0.5, 0], message: 'فشل الدفع: البطاقة مرفوضة' },
  { type: 'הזמנה.נוצרה', perMinute: 30, pending: 1_234_567 },
  { type: '注文.作成されました', perMinute: 4, retried: 98_765_432 },
  { type: 'a b\tc', perMinute: 0.2 },
  { type: 'https://example.com/hooks/7f3a?source=shop&kind=order', perMinute: 6, failing: [0.03, 0] },
  { type: 'UPPER_CASE_WITHOUT_ANY_PLACE_TO_BREAK_THE_LINE_ANYWHERE', perMinute: 2_000_000 },
];
