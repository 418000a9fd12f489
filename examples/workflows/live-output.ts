import { createServer, type IncomingMessage, type Server } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { createStreamResponse, createWorkflow, type Hub, type HubWorkflow, type RunCtx } from 'hubline';

/** Page of a report that has been written. */
export interface ReportPage {
  readonly page: number;
  readonly text: string;
}

/** Creates a workflow that writes a report, and publishes each page as soon as it is written. */
export function reportWorkflow(
  pages: number,
  write: (topic: string, page: number) => Promise<string>,
): HubWorkflow<string, void> {
  return createWorkflow({
    name: 'report',
    run: async ({ input: topic, step }: RunCtx<string>) => {
      for (let page = 1; page <= pages; page += 1) {
        await step.publish({ progress: (page - 1) / pages, message: `page ${page} of ${pages}` });
        await step.run('write', async ({ publish }) => publish({ page, text: await write(topic, page) }));
      }
      await step.publish({ progress: 1 });
    },
  });
}

/** Reads the pages of a run, in any process, from a place on. */
export async function readPages(hub: Hub, runId: string, from: number): Promise<ReportPage[]> {
  const pages: ReportPage[] = [];
  for await (const event of hub.stream<Partial<ReportPage>>(runId, { from })) {
    if (event.type !== 'data') continue;
    const { page, text } = event.data;
    if (page !== undefined && text !== undefined) pages.push({ page, text });
  }
  return pages;
}

/** Creates a server that streams the output of runs to the browsers of those who started them. */
export function createOutputServer(hub: Hub, ownerOf: (runId: string) => string | undefined): Server {
  return createServer(async (incoming, outgoing) => {
    const left = new AbortController();
    outgoing.once('close', () => left.abort());
    const url = new URL(incoming.url ?? '/', 'http://localhost');
    const runId = url.pathname.slice(1);
    const request = new Request(url, { headers: headersOf(incoming), signal: left.signal });
    const { status, headers, body } = await createStreamResponse(hub, runId, request, {
      authorize: ({ headers }) => ownerOf(runId) === headers.get('x-user'),
    });
    outgoing.writeHead(status, Object.fromEntries(headers));
    if (body === null) outgoing.end();
    else await pipeline(body, outgoing).catch(() => {});
  });
}

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  );
}
