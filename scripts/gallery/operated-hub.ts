import {
  createActionsHandler,
  createDashboardHandler,
  createHub,
  type DashboardHandler,
  type Hub,
  memoryTransport,
} from 'hubline';
import { createFakeClock, type FakeClock } from 'hubline/testing';
import { minorTypes, registerMail, registerShop, registerSupport } from './operated-services.js';

/** Three services after a day, with a dashboard whose user may do everything. Time goes on. */
export interface OperatedShop {
  readonly handler: DashboardHandler;
  /** Id of a run with 400 elements of a map, of one that waits in a child run, and of an agent's run with 30 turns. */
  readonly ids: { readonly long: string; readonly nested: string; readonly turns: string };
  stop(): Promise<void>;
}

const minute = 60_000;
const day = 1_440 * minute;
const actions = '/ops/hub-actions';
const historyMs = 27 * 60 * minute;
/** Time between the second release and the end of the history. */
const releasedMs = 12 * minute;
const tickMs = 100;

/**
 * Starts a shop with services for mails and support, which have worked for 27 hours: 62 event types, two releases, a lost process, a stuck
 * queue, failures in groups, long and nested runs, approvals, a pause.
 */
export async function startOperatedShop(): Promise<OperatedShop> {
  const clock = createFakeClock(Date.now() - historyMs);
  const transport = memoryTransport({ clock });
  const create = (service: string, release: string): Hub => createHub({ service, release, logger: false, transport });
  const mail = create('mail', '7f3a91c');
  registerMail(mail, clock, clock.now() + historyMs - 190 * minute);
  const support = create('support', '2026-11');
  registerSupport(support, clock);
  await Promise.all([mail.start(), support.start()]);
  const start = async (release: '1.4.0' | '1.5.0'): Promise<Hub> => {
    const hub = create('shop', release);
    registerShop(hub, clock, release);
    await hub.start();
    return hub;
  };
  const former = await start('1.4.0');
  const stopFirst = trade(former, clock, 1);
  await clock.advance(historyMs - releasedMs);
  const traded = stopFirst();
  await Promise.all([former.stop(), clock.advance(minute)]);
  const shop = await start('1.5.0');
  const stopTrade = trade(shop, clock, traded);
  const ids = await operate(shop, clock);
  await clock.advance(Math.max(0, Date.now() - clock.now()));
  const ticking = setInterval(() => void clock.advance(tickMs), tickMs);
  const act = createActionsHandler(shop, {
    basePath: actions,
    authorize: () => ({
      user: 'ada',
      can: ['replay', 'cancel', 'pause', 'resume', 'approve', 'erase', 'payload', 'audit'],
    }),
  });
  const dashboard = createDashboardHandler(shop, { actions });
  return {
    handler: (req, res) => (req.url?.startsWith(actions) === true ? act(req, res) : dashboard(req, res)),
    ids,
    async stop() {
      stopTrade();
      await Promise.all([shop, mail, support].map((hub) => hub.stop({ drainMs: 0 })));
      clearInterval(ticking);
    },
  };
}

/** Emits orders, more by day than by night, with what comes with them. Returns a function that ends it. */
function trade(hub: Hub, clock: FakeClock, firstOrder: number): () => number {
  let isOpen = true;
  let n = firstOrder;
  const next = (): void => {
    if (!isOpen) return;
    void hub.emit('order.created', { n });
    const minor = minorTypes[(n * n) % 29];
    if (minor !== undefined) void hub.emit(minor, {});
    if (n % 5 === 0) {
      const scanned = n;
      clock.after(20 * minute + (scanned % 7) * 3 * minute, () => {
        if (isOpen) void hub.emit('parcel.scanned', { n: scanned });
      });
    }
    if (n % 50 === 0) void hub.emit('refund.requested', { n });
    if (n % 130 === 0) void hub.emit('ticket.opened', 'Where is my order?'.slice(n % 3));
    n += 1;
    const perMinute = 14 + 8 * Math.sin((clock.now() / day) * 2 * Math.PI - 2);
    clock.after((minute / perMinute) * (0.5 + ((n * 0.618) % 1)), next);
  };
  next();
  return () => {
    isOpen = false;
    return n;
  };
}

/** Passes the time between the release and now. Returns the ids of what it starts. */
async function operate(shop: Hub, clock: FakeClock): Promise<OperatedShop['ids']> {
  await clock.advance(2 * minute);
  await leaveLostProcess(shop);
  await shop.pause({ type: 'refund.requested' }, { by: 'ada', reason: 'the bank is down until 14:00' });
  const [letter] = await shop.deadLetters('payment.requested', { limit: 1 });
  if (letter !== undefined) await shop.replay(letter.id, { by: 'grace', via: 'cli', reason: 'the card was renewed' });
  await shop.pause({ workflow: 'fulfil' }, { by: 'grace', via: 'cli', reason: 'the printer is out of paper' });
  await shop.resume({ workflow: 'fulfil' }, { by: 'grace', via: 'cli' });
  for (let n = 1; n <= 9; n += 1) {
    await shop.emit('report.requested', { n });
    await clock.advance(minute / 3);
  }
  await shop.emit('newsletter.sent', {}, { delayMs: 60 * minute });
  for (const [index, subject] of ['My tea', 'My cup', 'My jar'].entries()) {
    await shop.emit('ticket.opened', `${subject} is broken. I want my money back.`, { delayMs: index * minute });
  }
  const turns = await shop.emit('ticket.opened', 'Where is everything that I ordered?');
  const nested = await shop.startWorkflow('checkout', {});
  await clock.advance(4 * minute);
  const long = await shop.startWorkflow('search.reindex', {});
  await clock.advance(2 * minute);
  return { long: long.runId, nested: nested.runId, turns: turns.id };
}

/** Stores what a process that was killed a minute after the release leaves. */
async function leaveLostProcess({ transport: { kv, clock } }: Hub): Promise<void> {
  const key = 'hubline:processes';
  const { processes = [] } = Object(JSON.parse((await kv.get(key)) ?? '{}'));
  const lostAt = clock.now() - minute;
  const lost = { id: 'c41d09ab', service: 'shop', host: 'worker-7', pid: 4_711, release: '1.4.0', active: 3 };
  const entry = { ...lost, startedAt: lostAt - day, seenAt: lostAt };
  await kv.set(key, JSON.stringify({ processes: [entry, ...processes] }));
}
