import { fork } from 'node:child_process';
import { expect, it, onTestFinished } from 'vitest';
import { recordTelemetry } from '../server/testing/record-telemetry.fixture.js';
import { type TracedSpan, toTracedSpan } from './traced-worker.js';
import { programOf } from './workers/program.js';
import { setScene, until } from './workers/scene.js';

it('one trace covers three processes, with retries, follow-up events and workflows', async () => {
  const telemetry = recordTelemetry();
  const { hub, workers } = await setScene(['ordered']);
  const { url, prefix } = workers('');
  const received: TracedSpan[] = [];
  const pids = await Promise.all(
    ['mail', 'shop'].map((role) => startTracedWorker([role, url, prefix], (span) => received.push(span))),
  );
  const [mail, shop] = pids;
  await hub.emit('ordered', null, { delayMs: 10 });
  await until('the run has ended', () => received.some(({ name }) => name === 'process thank'));
  await until('both attempts have ended', () => received.filter(({ name }) => name === 'process ordered').length === 2);
  await until('the send has ended', () => received.some(({ name }) => name === 'send billed'));

  const spans = [...telemetry.spans.map(toTracedSpan), ...received];
  const parentOf = ({ parentId }: TracedSpan) => spans.find(({ spanId }) => spanId === parentId)?.name;
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  expect(spans.map((span) => [span.name, span.pid, parentOf(span)]).sort()).toEqual(
    [
      ['send ordered', process.pid, undefined],
      ['process ordered', shop, 'send ordered'],
      ['process ordered', shop, 'send ordered'],
      ['send billed', shop, 'process ordered'],
      ['process thank', mail, 'send billed'],
      ['step write', mail, 'process thank'],
    ].sort(),
  );
});

async function startTracedWorker(args: readonly string[], onSpan: (span: TracedSpan) => void): Promise<number> {
  const child = fork(programOf('traced-worker'), args, { execArgv: [] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`a worker ended with ${code}`)));
    // A traced worker sends only these two kinds of message.
    child.on('message', (message: 'ready' | TracedSpan) => {
      if (message !== 'ready') onSpan(message);
      else if (child.pid !== undefined) resolve(child.pid);
    });
  });
}
