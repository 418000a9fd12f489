import { createEvent, createHub, memoryTransport } from 'hubline';
import { createFakeClock } from 'hubline/testing';

const digestDue = createEvent<{ customer: string }>({ type: 'digest.due' });
const clock = createFakeClock(new Date('2026-01-05T05:30:00Z').getTime());
const hub = createHub({ transport: memoryTransport({ clock }) });
hub.event(digestDue, {
  handler: ({ payload }) => console.log(`${new Date(clock.now()).toISOString()} ${payload.customer}`),
});
await hub.start();
const zones = { ada: 'Europe/Oslo', bob: 'Europe/London' };
for (const [customer, timeZone] of Object.entries(zones)) {
  await hub.schedules.set({
    name: 'digest',
    key: customer,
    cron: '0 7 * * *',
    timeZone,
    emit: digestDue,
    payload: { customer },
  });
}
for (let hour = 0; hour < 3; hour += 1) await clock.advance(3_600_000);
await hub.stop();
