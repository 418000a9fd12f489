import fc from 'fast-check';
import { expect, it } from 'vitest';
import { runs } from '../../../scripts/property-tests.js';
import { createFakeClock } from '../../testing/fake-clock.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import type { Hub } from '../hub.js';
import { createProgramHub, disturbanceOf, expectEnds, Journal, program, signal } from './run-programs.fixture.js';
import type { WorkflowHandle } from './workflow-handle.js';

it('ends every random program as its model says, for any crashes, retries, timeouts, signals and cancels', async () => {
  const disturbances = fc.array(disturbanceOf(2), { maxLength: 15 });
  await fc.assert(
    fc.asyncProperty(fc.tuple(program, program), disturbances, async (programs, events) => {
      const clock = createFakeClock();
      const transport = memoryTransport({ clock });
      const journal = new Journal();
      const start = async (): Promise<Hub> => {
        const hub = createProgramHub(transport, journal);
        await hub.start();
        await clock.settle();
        return hub;
      };
      let hub = await start();
      const runs: WorkflowHandle[] = [];
      for (const input of programs) runs.push(await hub.startWorkflow('program', input));
      const cancelled = new Set<number>();
      for (const event of events) {
        if (event.do === 'advance') await clock.advance(event.ms);
        else if (event.do === 'signal') await signal(hub, event.key);
        else if (event.do === 'cancel') {
          const run = runs[event.run];
          if (run !== undefined && (await journal.cancel(run))) cancelled.add(event.run);
        } else {
          await hub.stop({ drainMs: 0 });
          hub = await start();
        }
        await clock.settle();
      }
      await clock.advance(100_000);
      await expectEnds(hub, journal, { programs, runIds: runs.map(({ runId }) => runId), cancelled });
      expect(new Set(journal.emitted).size).toBe(journal.emitted.length);
      // Steps that hang never return.
      await hub.stop({ drainMs: 0 });
    }),
    { numRuns: runs(60) },
  );
});
