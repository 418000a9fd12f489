import { type SpanContext, SpanStatusCode, trace } from '@opentelemetry/api';
import { expect, it, vi } from 'vitest';
import { kindOf, recordTelemetry } from '../testing/record-telemetry.fixture.js';
import { testHub } from './hub.fixture.js';
import { createWorkflow } from './runs/workflow.js';

const contextOf = (): SpanContext | undefined => trace.getActiveSpan()?.spanContext();

it('a workflow run has one span per delivery, with one child per step attempt', async () => {
  const telemetry = recordTelemetry();
  const { hub, clock } = testHub();
  const within: (SpanContext | undefined)[] = [];
  hub.workflow(
    createWorkflow({
      name: 'fulfil',
      trigger: 'ordered',
      onSuccess: 'shipped',
      steps: [
        { name: 'pick', handler: () => within.push(contextOf()) },
        {
          name: 'ship',
          retry: { maxAttempts: 2, initialDelayMs: 1_000, jitter: false },
          async handler({ attempt }) {
            await Promise.resolve();
            within.push(contextOf());
            if (attempt === 1) throw new TypeError('no van');
          },
        },
      ],
    }),
  );
  hub.event({ type: 'ordered' });
  hub.event({ type: 'shipped' });
  await hub.start();
  await hub.emit('ordered', null);
  await vi.waitFor(() => expect(within).toHaveLength(2));
  await clock.advance(1_000);
  await vi.waitFor(() =>
    expect(telemetry.tree()).toEqual([
      'send ordered',
      '  process fulfil',
      '    step pick',
      '    step ship',
      '  process fulfil',
      '    step ship',
      '    send shipped',
    ]),
  );
  const steps = telemetry.spans.filter(({ name }) => name.startsWith('step'));
  expect(within).toEqual(steps.map((span) => span.spanContext()));
  expect(steps.map(kindOf)).toEqual(['INTERNAL', 'INTERNAL', 'INTERNAL']);
  const ship = { 'hubline.workflow.name': 'fulfil', 'hubline.workflow.step': 'ship' };
  expect(steps.map(({ attributes }) => attributes)).toEqual([
    { 'hubline.workflow.name': 'fulfil', 'hubline.workflow.step': 'pick', 'hubline.attempt': 1 },
    { ...ship, 'hubline.attempt': 1, 'error.type': 'TypeError' },
    { ...ship, 'hubline.attempt': 2 },
  ]);
  const runs = telemetry.spans.filter(({ name }) => name === 'process fulfil');
  expect(runs.map(({ attributes }) => attributes)).toMatchObject([
    { 'hubline.kind': 'workflow', 'hubline.attempt': 1, 'hubline.outcome': 'suspended' },
    { 'hubline.kind': 'workflow', 'hubline.attempt': 1, 'hubline.outcome': 'completed' },
  ]);
});

it('a child run has a send span under the delivery of its parent, as the events of a run do', async () => {
  const telemetry = recordTelemetry();
  const { hub, clock } = testHub();
  hub.event({ type: 'noted' });
  hub.workflow(createWorkflow({ name: 'child', run: ({ step }) => step.run('work', () => 1) }));
  hub.workflow(
    createWorkflow({
      name: 'parent',
      run: async ({ step }) => {
        await step.emit('note', 'noted', null);
        await Promise.all([step.sleep('pause', 10), step.invoke('a', 'child', 1), step.invoke('b', 'child', 2)]);
      },
    }),
  );
  await hub.start();
  const run = await hub.startWorkflow('parent', null);
  await clock.advance(100);
  await run.result();
  const child = ['    send child', '      process child', '        step work'];
  await vi.waitFor(() =>
    expect(telemetry.tree().map((line) => line.replace(/ +$/, ''))).toEqual([
      'send parent',
      '  process parent',
      '    step note',
      '    send noted',
      ...child,
      ...child,
      '  process parent',
      '  process parent',
    ]),
  );
});

it('the span of a step ends when its run is cancelled or released', async () => {
  const telemetry = recordTelemetry();
  const { hub } = testHub();
  let running = 0;
  hub.workflow(
    createWorkflow({
      name: 'wait',
      steps: [
        {
          name: 'long',
          handler: () => {
            running += 1;
            return new Promise(() => {});
          },
        },
      ],
    }),
  );
  await hub.start();
  const cancelled = await hub.startWorkflow('wait', null);
  await hub.startWorkflow('wait', null);
  await vi.waitFor(() => expect(running).toBe(2));
  await cancelled.cancel();
  await hub.stop({ drainMs: 0 });
  const steps = telemetry.spans.filter(({ name }) => name === 'step long');
  expect(steps.map(({ status }) => status.code)).toEqual([SpanStatusCode.ERROR, SpanStatusCode.UNSET]);
  expect(steps.map(({ attributes }) => attributes)).toMatchObject([
    { 'error.type': 'WorkflowCancelledError' },
    { 'hubline.released': true },
  ]);
});
