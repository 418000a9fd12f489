/** A request without a usable answer. Its message is a full sentence for the person at the page. */
export class RequestError extends Error {
  override readonly name = 'RequestError';
}

/** The error for an answer that is not 200; `detail` is the server's own message, where it sent one. */
export function statusError(status: number, url: string, detail: string | undefined): RequestError {
  return new RequestError(sentence(status, url, detail));
}

function sentence(status: number, url: string, detail: string | undefined): string {
  const said = detail === undefined ? '' : ` It says: ${detail}`;
  if (status === 401) return 'You are not signed in (401). Sign in, then try again.';
  if (status === 403) return 'You may not see this dashboard (403).';
  if (status === 404)
    return `Nothing is served at ${url} (404).${said || ' Check where the dashboard is mounted, and its basePath.'}`;
  if (status === 503) return `The server is not ready (503).${said}`;
  return `The server answered with an error (${status}).${said}`;
}
